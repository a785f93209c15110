// For how long copies of one kind ran on a GPU and nothing else did, step by step, and what hiding them
// behind compute saves: what copies_out and peer_copies share. One thread.
#pragma once

#include <functional>
#include <map>
#include <utility>

#include "../advice/some_steps.h"
#include "../advice/work.h"

namespace gpushim::analysis {

struct KindOfCopy {
    const char* name;     // copy_stat.kind
    int64_t classes;      // activity.classes of these alone
    int64_t least_bytes;  // smaller ones have other causes
};

class AloneInSteps {
  public:
    AloneInSteps(const Situation& run, const KindOfCopy& kind);

    bool is_never() const { return ns_.empty(); }
    double ns(const GpuInStep& gpu) const;
    // Of each GPU the time of the step in the middle.
    void leave_out_what_is_usual(size_t steps);

  private:
    std::map<std::pair<int64_t, int64_t>, double> ns_;  // by gpu_id, step
};

struct Hidden {
    Gain gain;
    SomeSteps where;
};
Hidden hidden(const Situation& run, const Factor& share, const std::function<double(const GpuInStep&)>& ns);

}  // namespace gpushim::analysis
