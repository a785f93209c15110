// What each GPU drew while steps ran, by two readings of its own counter.
#include <algorithm>
#include <optional>
#include <string>

#include "../sql/run_db.h"
#include "nvml_samples.h"
#include "own_parts.h"

namespace gpushim::analysis {

namespace {

struct Reading {
    int64_t mono_ns;
    double energy_mj;
};

struct Most {
    Value energy_j = nullptr, span_ns = nullptr;
};

class EnergyPart : public PartByCall<EnergyPart> {
  public:
    explicit EnergyPart(const TraceFacts& facts) : facts_(facts) {}

    void finish(RunDb& run) override {
        for (const Gpu& gpu : facts_.gpus) write(gpu, run);
    }

  private:
    Query samples_of(const Gpu& gpu, const char* what, const char* key) const {
        Query rows = nvml_samples(facts_, gpu,
                                  std::string("SELECT ") + what +
                                      " FROM nvml WHERE device_id = ?1 AND key = ?4 AND value IS NOT NULL"
                                      " AND mono_ns BETWEEN ?2 AND ?3 ORDER BY mono_ns");
        rows.bind(4, std::string(key));
        return rows;
    }

    std::optional<Reading> reading(const Gpu& gpu, const char* where, int64_t at_ns) const {
        Query row = facts_.trace->base.prepare(
            std::string("SELECT mono_ns, value FROM nvml WHERE device_id = ?1 AND key = 'energy_mj'"
                        " AND value IS NOT NULL AND mono_ns ") +
            where);
        row.bind(1, gpu.device_id);
        row.bind(2, at_ns);
        if (!row.step()) return {};
        return Reading{row.number(0), row.real(1)};
    }

    // steps         |──────────────────|
    // samples    x                        x      what the GPU drew between them is at least what steps took
    Most most_of(const Gpu& gpu) const {
        if (facts_.are_slices || facts_.steps.empty() || !facts_.trace->base.has("nvml")) return {};
        const int64_t begin_ns = facts_.steps.front().begin_ns, end_ns = facts_.steps.back().end_ns;
        auto first = reading(gpu, "<= ?2 ORDER BY mono_ns DESC LIMIT 1", begin_ns);
        if (!first) first = reading(gpu, "> ?2 ORDER BY mono_ns LIMIT 1", begin_ns);
        auto last = reading(gpu, ">= ?2 ORDER BY mono_ns LIMIT 1", end_ns);
        if (!last) last = reading(gpu, "< ?2 ORDER BY mono_ns DESC LIMIT 1", end_ns);
        if (!first || !last || last->energy_mj < first->energy_mj) return {};
        const int64_t span_ns = std::min(last->mono_ns, end_ns) - std::max(first->mono_ns, begin_ns);
        if (span_ns <= 0) return {};
        return {(last->energy_mj - first->energy_mj) / 1000, span_ns};
    }

    bool has_counter(const Gpu& gpu) const {
        Query row = facts_.trace->base.prepare(
            "SELECT EXISTS (SELECT 1 FROM nvml WHERE device_id = ?1 AND key = 'energy_mj')");
        row.bind(1, gpu.device_id);
        return row.step() && row.number(0) != 0;
    }

    void write(const Gpu& gpu, RunDb& run) const {
        const auto none = [&](const char* why, const Value& limit = nullptr) {
            const Most most = most_of(gpu);
            run.add("gpu_energy",
                    {gpu.gpu_id, nullptr, nullptr, limit, std::string(why), most.energy_j, most.span_ns});
        };
        if (!facts_.trace->base.has("nvml") || !has_counter(gpu))
            return none("NVML told no energy: not recorded");
        std::optional<Reading> first, last;
        for (Query row = samples_of(gpu, "mono_ns, value", "energy_mj"); row.step();) {
            last = Reading{row.number(0), row.real(1)};
            if (!first) first = last;
        }
        Query most = samples_of(gpu, "max(value)", "power_limit_mw");
        const Value limit = most.step() && !most.is_null(0) ? Value(most.real(0) / 1000) : Value(nullptr);
        if (!first || first->mono_ns == last->mono_ns)
            return none("fewer than two samples of NVML lie within the steps", limit);
        const double energy_j = (last->energy_mj - first->energy_mj) / 1000;
        // Where the driver was loaded again it begins at 0.
        if (energy_j < 0) return none("the counter of energy went back", limit);
        run.add("gpu_energy",
                {gpu.gpu_id, energy_j, last->mono_ns - first->mono_ns, limit, nullptr, nullptr, nullptr});
    }

    const TraceFacts& facts_;
};

const PartRegistration kEnergyPart(make_energy_part);

}  // namespace

std::unique_ptr<Part> make_energy_part(const TraceFacts& facts) {
    return std::make_unique<EnergyPart>(facts);
}

}  // namespace gpushim::analysis
