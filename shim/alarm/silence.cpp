#include "silence.h"

#include <algorithm>
#include <utility>

namespace gpushim::shim {
namespace {

constexpr int64_t kWeight = 8;  // of what is usual, against one more wait

}  // namespace

int64_t Silence::limit_ns() const {
    return std::max({least_ns_, kTimesUsual * usual_ns(), kTimesLongest * longest_ns_});
}

Silence::Said Silence::look(const Seen& seen) {
    const bool is_first = looked_ns_ == INT64_MIN;
    const int64_t passed_ns =
        is_first ? 0 : std::clamp<int64_t>(seen.now_ns - looked_ns_, 0, most_passed_ns_);
    looked_ns_ = seen.now_ns;
    if (seen.has_moved || !seen.waits) {
        end();
        return std::exchange(has_said_, false) ? Said::goes_on : Said::nothing;
    }
    for_ns_ += passed_ns;
    if (has_said_ || for_ns_ < limit_ns()) return Said::nothing;
    has_said_ = true;
    return Said::hangs;
}

// A wait that was called a hang teaches that such waits end, and no more than that: one of hours would
// silence the alarm for the rest of the run.
void Silence::end() {
    if (for_ns_ == 0) return;
    before_ns_ = for_ns_;
    const int64_t counts_ns = std::min(for_ns_, limit_ns());
    longest_ns_ = std::max(longest_ns_, counts_ns);
    waits_ = std::min(waits_ + 1, kFewWaits);
    usual_ns_ = usual_ns_ == 0 ? counts_ns : usual_ns_ + (counts_ns - usual_ns_) / kWeight;
    for_ns_ = 0;
}

}  // namespace gpushim::shim
