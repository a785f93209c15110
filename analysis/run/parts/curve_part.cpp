// Memory that the program held and what NVML showed, over time, thinned for drawing. Asks the trace when it
// is over: calls cost nothing here.
#include <map>

#include "../sql/run_db.h"
#include "own_parts.h"
#include "thinned.h"

namespace gpushim::analysis {

namespace {

constexpr size_t kParts = 120;

class CurvePart : public PartByCall<CurvePart> {
  public:
    explicit CurvePart(const TraceFacts& facts) : facts_(facts) {}

    void finish(RunDb& run) override {
        const Database& trace = facts_.trace->base;
        for (const Gpu& gpu : facts_.gpus) {
            if (trace.has("memory") && trace.has("context")) write(run, gpu, "allocated_bytes", held(gpu));
            if (trace.has("nvml")) write_nvml(run, gpu);
        }
    }

  private:
    static void write(RunDb& run, const Gpu& gpu, const std::string& what,
                      const std::vector<ThinnedPart>& parts) {
        for (const ThinnedPart& part : parts)
            run.add("gpu_curve", {gpu.gpu_id, what, part.from_ns, part.mean, part.most});
    }

    // All contexts of the GPU together.
    std::vector<ThinnedPart> held(const Gpu& gpu) const {
        Query span =
            facts_.trace->base.prepare("SELECT min(enter_ns), max(enter_ns) FROM memory WHERE enter_ns < ?1");
        span.bind(1, facts_.trace->until_ns);
        if (!span.step() || span.is_null(0)) return {};
        int64_t end_ns = span.number(1);
        for (const Step& step : facts_.steps) end_ns = std::max(end_ns, step.end_ns);
        Query rows = facts_.trace->base.prepare(
            "SELECT m.enter_ns, m.context_id, m.held_bytes FROM memory m"
            " JOIN context c ON c.id = m.context_id"
            " WHERE c.device_id = ?1 AND m.kind = 4 AND m.held_bytes IS NOT NULL AND m.enter_ns < ?2"
            " ORDER BY m.enter_ns");
        rows.bind(1, gpu.device_id);
        rows.bind(2, facts_.trace->until_ns);
        ThinnedSteps steps(span.number(0), end_ns, kParts);
        std::map<int64_t, double> by_context;
        double sum = 0;
        for (; rows.step(); steps.add({rows.number(0), sum})) {
            double& of_context = by_context[rows.number(1)];
            sum += rows.real(2) - of_context;
            of_context = rows.real(2);
        }
        return by_context.empty() ? std::vector<ThinnedPart>() : steps.finish();
    }

    void write_nvml(RunDb& run, const Gpu& gpu) const {
        Query rows = facts_.trace->base.prepare(
            "SELECT key, mono_ns, value FROM nvml WHERE device_id = ?1 AND key IN ('gpu_busy_percent',"
            " 'memory_used_bytes', 'power_mw', 'sm_mhz', 'temperature_c') AND value IS NOT NULL"
            " ORDER BY key, mono_ns");
        rows.bind(1, gpu.device_id);
        std::map<std::string, std::vector<TimedValue>> by_key;
        while (rows.step()) by_key[rows.text(0)].push_back({rows.number(1), rows.real(2)});
        for (const auto& [key, samples] : by_key) write(run, gpu, key, thinned_samples(samples, kParts));
    }

    const TraceFacts& facts_;
};

const PartRegistration kCurvePart(make_curve_part);

}  // namespace

std::unique_ptr<Part> make_curve_part(const TraceFacts& facts) { return std::make_unique<CurvePart>(facts); }

}  // namespace gpushim::analysis
