#include "make_space.h"

#include <algorithm>

namespace gpushim::shim {
namespace {

constexpr int64_t kTotalBytes = 70;  // of a row of them, about
constexpr int64_t kSampleBytes = 40;
constexpr int kMergesAtOnce = 64;    // most are of spans without rows …
constexpr int64_t kRowsOfMerge = 4;  // … and a row that is put to another changes two, with histograms
// Counting takes a look at all of them: only when so much of the room has changed hands.
constexpr int64_t kCountEvery = 16;
constexpr int64_t kLookEvery = 16;
constexpr int64_t kRowsOfUnused = 4;  // one that goes has others with it, in other places

}  // namespace

int64_t SpaceMaker::totals_bytes() {
    if (freed_bytes_ <= size_.room_bytes() / kCountEvery) return totals_bytes_;
    freed_bytes_ = 0;
    count_.step();
    totals_bytes_ = count_.number(0) * kTotalBytes;
    count_.step();
    totals_bytes_ += samples_.count() * kSampleBytes;
    return totals_bytes_;
}

bool SpaceMaker::merge_some(bool at_any_cost) {
    const int64_t most_rows = size_.most_rows() / kRowsOfMerge;
    base_.begin(false);
    bool any = false;
    for (int64_t work = 0, i = 0; work < most_rows && i < kMergesAtOnce; ++i) {
        std::optional<Merged> merged = merge_.merge_some(most_rows, at_any_cost);
        if (!merged) merged = merge_.merge_oldest_steps(most_rows);
        if (!merged) break;
        totals_bytes_ -= merged->freed * kTotalBytes;
        work += merged->taken;
        any = true;
    }
    base_.commit();
    return any;
}

// Where that much has gone. `at_once`: anything.
bool SpaceMaker::free_unused(bool at_once) {
    if (!is_looking_ &&
        (unlooked_bytes_ == 0 || (!at_once && unlooked_bytes_ < size_.room_bytes() / kLookEvery)))
        return false;
    unlooked_bytes_ = 0;
    is_looking_ = unused_.free_some(size_.most_rows() / kRowsOfUnused, retention_.newest_ns());
    return true;
}

bool SpaceMaker::make_some() {
    if (totals_bytes() > size_.room_bytes() / 2 && merge_some(false)) return true;
    if (free_unused(false)) return true;
    const int64_t before_bytes = size_.used_bytes();
    const bool freed = retention_.free_some(size_.most_rows());
    if (freed) {
        const int64_t bytes = std::max<int64_t>(before_bytes - size_.used_bytes(), 0);
        freed_bytes_ += bytes;
        unlooked_bytes_ += std::max<int64_t>(bytes, 1);
    }
    return freed || free_unused(true) || merge_some(true);
}

Share SpaceMaker::make(int64_t need_bytes) {
    bool fits = need_bytes <= size_.most_bytes();
    if (!fits) need_bytes = FileSize::kTransactionBytes;
    while (size_.is_short_of(need_bytes)) {
        size_.expect(size_.freeing_bytes());
        if (make_some()) continue;
        fits = false;
        break;
    }
    size_.expect(need_bytes);
    return fits ? Share::rows : Share::totals;
}

}  // namespace gpushim::shim
