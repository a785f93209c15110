// The GPU waits while the host is in its Python: on its way from one operator to the next, collecting
// garbage, or waiting for the interpreter's lock.
#include <algorithm>

#include "../text/units.h"
#include "host_overhead.h"

namespace gpushim::analysis::rule_python_overhead {

namespace {

constexpr HostOverhead kBetween = {
    "python_overhead", {"python"}, "between operators, in Python or other code of the program, for"};
constexpr Causes kAll = {"python", "garbage_collection", "interpreter_lock"};

struct Other {
    Causes cause;
    const char* advice;
    const char* words;  // while
    Heading heading;    // where it is most
};
constexpr Other kOthers[] = {
    {{"garbage_collection"},
     "python_overhead.garbage",
     "its interpreter collects garbage",
     {"host-bound", "Python collects garbage", "the GPU waits while Python collects garbage",
      "collecting it less often"}},
    {{"interpreter_lock"},
     "python_overhead.lock",
     "the launching thread waits for its interpreter's lock",
     {"host-bound", "The lock of Python's interpreter",
      "the GPU waits while the launching thread waits for its interpreter's lock",
      "Python of other threads in processes of their own"}},
};

// What was not seen may be the lock, too: at most.
void add_unseen(const Situation& run, Finding& found) {
    const Causes kUnseen = {"host_blocked"};
    const double unseen_ns = run.what_if().idle_ns(kUnseen);
    if (unseen_ns <= 0 || run.what_if().idle_ns({"interpreter_lock"}) <= 0 || !is_mostly_the_lock(run))
        return;
    found.title +=
        ", and up to " + duration_text(unseen_ns) + " in which it was off its processor and not seen";
    found.gain.high_ns = run.what_if().without(kAll | kUnseen, WhatIf::Left::kKernelGap).high_ns;
}

std::optional<Finding> look(const Situation& run) {
    if (run.serving().lacks_graphs()) return {};  // another rule's
    std::optional<Finding> found = host_overhead(run, kBetween);
    double most_ns = run.what_if().idle_ns(kBetween.causes);
    for (const Other& other : kOthers) {
        const double idle_ns = run.what_if().idle_ns(other.cause);
        if (idle_ns <= 0) continue;
        const std::string advice = run.advice({other.advice});
        if (!found) found = Finding{};
        if (idle_ns > most_ns) found->heading = &other.heading;
        most_ns = std::max(most_ns, idle_ns);
        found->title += (found->title.empty() ? "the GPU waits " : ", and ") + duration_text(idle_ns) +
                        " of a " + run.per() + " while " + other.words;
        found->try_it += (found->try_it.empty() ? "" : " ") + advice;
    }
    if (!found) return {};
    found->gain = run.what_if().without(kAll, WhatIf::Left::kKernelGap);
    add_unseen(run, *found);
    found->confidence = 0.8;
    found->where = run.seen_in(kAll);
    found->evidence = run.gaps_of(kAll);
    return found;
}

constexpr Heading kHeading = {"host-bound", "Python between operators", "the GPU waits while Python runs",
                              "less Python in a step, or CUDA graphs"};
const RuleRegistration kRegistration({"python_overhead", Scope::kOneGpu, look, kHeading});

}  // namespace

}  // namespace gpushim::analysis::rule_python_overhead
