// The clocks of the hosts of a run, and what to add to one to have another. Traces of one boot share a clock;
// where nothing says whose clock it is, a trace has one of its own. Offsets are to the clock of the first
// trace, by way of other hosts where the two never met. Read-only after settle(); any thread then.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "../../skew/align.h"
#include "../pass/facts.h"

namespace gpushim::analysis {

class RunClocks {
  public:
    void add(const TraceFacts& facts);
    size_t count() const { return labels_.size(); }
    int clock_of(int64_t rank_id) const { return clock_of_rank_.at(rank_id); }
    // Whose clock it is was recorded: two of these are two hosts.
    bool is_named(int clock) const { return named_[static_cast<size_t>(clock)]; }
    const std::string& label(int clock) const { return labels_[static_cast<size_t>(clock)]; }

    // An instance of a communicator, with the clock of each of its ranks.
    void learn(const CollectiveInstance& instance, const std::vector<int>& clock_of_rank);
    void settle();

    // What to add to that clock's times to have the first one's. None: they never met, or bounds that
    // contradict each other.
    std::optional<ClockOffset> offset(int clock, int64_t at_ns) const;
    // In the middle of what is known of it, by its own clock.
    std::optional<ClockOffset> offset(int clock) const { return offset(clock, middle_ns(clock)); }

  private:
    struct Way {  // to the first clock
        int over;
        HostOffset offset;
    };
    int64_t middle_ns(int clock) const;

    std::vector<std::string> labels_, keys_;
    std::vector<bool> named_;
    std::map<int64_t, int> clock_of_rank_;
    std::map<std::pair<int, int>, std::vector<SharedBarrier>> met_;  // a < b
    std::vector<std::optional<Way>> ways_;                           // by clock
    std::vector<Interval> known_;
};

}  // namespace gpushim::analysis
