// The GPU waits while the host allocates or frees memory in steps.
#include <algorithm>

#include "../advice/rule.h"
#include "../text/units.h"

namespace gpushim::analysis {

namespace {

std::optional<Finding> look(const Situation& run) {
    // Loading code is another rule's.
    const double loads_ns =
        run.counted(run.real("SELECT max(after_warm_up_ns) * 1.0 FROM load_stat").value_or(0));
    const double idle_ns = run.what_if().idle_ns({"alloc_or_load"}) - loads_ns;
    if (idle_ns <= 0) return {};
    Finding found;
    found.title = "the GPU is idle " + duration_text(idle_ns) + " of a " + run.per() +
                  " while the host allocates or frees memory";
    found.try_it =
        "keep the framework's caching allocator on (PYTORCH_NO_CUDA_MEMORY_CACHING unset,"
        " PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True), no torch.cuda.empty_cache() in the loop,"
        " XLA_PYTHON_CLIENT_PREALLOCATE=true, TF_GPU_ALLOCATOR=cuda_malloc_async; buffers made once";
    found.gain = run.what_if().without({"alloc_or_load"});
    found.gain.high_ns = std::min(found.gain.high_ns, idle_ns);
    found.gain.low_ns = std::min(found.gain.low_ns, found.gain.high_ns);
    found.confidence = 0.8;
    found.evidence = run.gaps_of({"alloc_or_load"});
    return found;
}

const RuleRegistration kRegistration({"allocations", Scope::kOneGpu, look});

}  // namespace

}  // namespace gpushim::analysis
