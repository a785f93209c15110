// Clocks, power and why clocks were held back, from NVML's samples while steps ran.
#include <algorithm>
#include <optional>

#include "../sql/run_db.h"
#include "nvml_samples.h"
#include "own_parts.h"

namespace gpushim::analysis {

namespace {

// Bits as NVML gives them (shim/schema/README.md).
struct Reason {
    int64_t bit;
    const char* word;
};
constexpr Reason kReasons[] = {{2, "application_clocks"}, {4, "power_cap"}, {8, "hardware"},
                               {16, "sync_boost"},        {32, "thermal"},  {64, "hardware_thermal"},
                               {128, "power_brake"},      {256, "display"}};

constexpr int64_t kMostOfSteps = 100'000;

Value real_of(const Query& row, int column) {
    return row.is_null(column) ? Value(nullptr) : Value(row.real(column));
}

Value watts(const Value& milliwatts) {
    const double* value = std::get_if<double>(&milliwatts);
    return value != nullptr ? Value(*value / 1000) : Value(nullptr);
}

struct Mean {
    int64_t count = 0;  // samples; those of which the value is known are fewer, maybe
    int64_t known = 0;
    double sum = 0, most = 0;

    void add(const Query& row, int column) {
        ++count;
        if (row.is_null(column)) return;
        most = known++ == 0 ? row.real(column) : std::max(most, row.real(column));
        sum += row.real(column);
    }
    Value mean() const { return known > 0 ? Value(sum / static_cast<double>(known)) : Value(nullptr); }
    Value highest() const { return known > 0 ? Value(most) : Value(nullptr); }
};

class NvmlPart : public PartByCall<NvmlPart> {
  public:
    explicit NvmlPart(const TraceFacts& facts) : facts_(facts) {}

    void finish(RunDb& run) override {
        if (!facts_.trace->base.has("nvml")) return;
        for (const Gpu& gpu : facts_.gpus) write(gpu, run);
    }

  private:
    Query samples_of(const Gpu& gpu) const {
        return nvml_samples(
            facts_, gpu,
            "SELECT CAST(max(CASE WHEN key = 'throttle_reasons' THEN value END) AS INTEGER) AS reasons,"
            " max(CASE WHEN key = 'sm_mhz' THEN value END), max(CASE WHEN key = 'power_mw' THEN value END),"
            " max(CASE WHEN key = 'temperature_c' THEN value END),"
            " max(CASE WHEN key = 'gpu_busy_percent' THEN value END) / 100,"
            " max(CASE WHEN key = 'memory_used_bytes' THEN value END) /"
            "  nullif(max(CASE WHEN key = 'memory_total_bytes' THEN value END), 0), mono_ns FROM nvml"
            " WHERE device_id = ?1 AND mono_ns BETWEEN ?2 AND ?3 GROUP BY mono_ns HAVING reasons IS NOT "
            "NULL");
    }

    // Slices of a run without steps are none.
    void write_step(const Gpu& gpu, const Query& row, RunDb& run) const {
        if (facts_.are_slices) return;
        const int64_t at_ns = row.number(6);
        const auto after = std::upper_bound(facts_.steps.begin(), facts_.steps.end(), at_ns,
                                            [](int64_t ns, const Step& step) { return ns < step.begin_ns; });
        if (after == facts_.steps.begin() || at_ns >= std::prev(after)->end_ns) return;
        run.add("step_nvml", {gpu.gpu_id, int64_t{after - facts_.steps.begin() - 1},
                              nothing_ran(row.number(0)) ? nullptr : real_of(row, 1), watts(real_of(row, 2)),
                              real_of(row, 3)});
    }

    void write(const Gpu& gpu, RunDb& run) const {
        Mean all, idle, free, throttled, power, heat, use, memory, by_reason[std::size(kReasons)];
        for (Query rows = samples_of(gpu); rows.step();) {
            const int64_t reasons = rows.number(0);
            all.add(rows, 1);
            power.add(rows, 2);
            heat.add(rows, 3);
            if (all.count <= kMostOfSteps) write_step(gpu, rows, run);
            use.add(rows, 4);
            memory.add(rows, 5);
            (nothing_ran(reasons) ? idle : reasons != 0 ? throttled : free).add(rows, 1);
            for (size_t i = 0; i < std::size(kReasons); ++i)
                if ((reasons & kReasons[i].bit) != 0) by_reason[i].add(rows, 1);
        }
        if (all.count == 0) return;
        run.add("nvml_stat",
                {gpu.gpu_id, all.count, idle.count, throttled.count, free.mean(), throttled.mean(),
                 watts(power.mean()), watts(power.highest()), heat.highest(), use.mean(), memory.highest()});
        for (size_t i = 0; i < std::size(kReasons); ++i)
            if (by_reason[i].count > 0)
                run.add("throttle",
                        {gpu.gpu_id, std::string(kReasons[i].word), by_reason[i].count, by_reason[i].mean()});
    }

    const TraceFacts& facts_;
};

const PartRegistration kNvmlPart(make_nvml_part);

}  // namespace

std::unique_ptr<Part> make_nvml_part(const TraceFacts& facts) { return std::make_unique<NvmlPart>(facts); }

}  // namespace gpushim::analysis
