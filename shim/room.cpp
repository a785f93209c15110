#include "room.h"

#include <algorithm>

namespace gpushim::shim {
namespace {

constexpr int64_t kTotalBytes = 70;  // of a row of them, about
constexpr int64_t kSampleBytes = 40;
constexpr int kMergesAtOnce = 8;
// Counting takes a look at all of them: only when so much of the room has changed hands.
constexpr int64_t kCountEvery = 16;

}  // namespace

int64_t Room::totals_bytes() {
    if (freed_bytes_ <= size_.room_bytes() / kCountEvery) return totals_bytes_;
    freed_bytes_ = 0;
    count_.step();
    totals_bytes_ = count_.number(0) * kTotalBytes;
    count_.step();
    totals_bytes_ += samples_.count() * kSampleBytes;
    return totals_bytes_;
}

bool Room::merge_some(bool at_any_cost) {
    base_.begin(false);
    bool any = false;
    for (int i = 0; i < kMergesAtOnce; ++i) {
        std::optional<int64_t> rows = merge_.merge_some(at_any_cost);
        if (!rows) rows = merge_.merge_oldest_steps(size_.most_rows() / kMergesAtOnce);
        if (!rows) break;
        totals_bytes_ -= *rows * kTotalBytes;
        any = true;
    }
    base_.commit();
    return any;
}

bool Room::make_some() {
    if (totals_bytes() > size_.room_bytes() / 2 && merge_some(false)) return true;
    const int64_t before_bytes = size_.used_bytes();
    const bool freed = retention_.free_some(size_.most_rows());
    if (freed) freed_bytes_ += std::max<int64_t>(before_bytes - size_.used_bytes(), 0);
    return freed || merge_some(true);
}

bool Room::make(int64_t need_bytes) {
    const bool fits = need_bytes <= size_.most_bytes();
    if (!fits) need_bytes = FileSize::kTransactionBytes;
    while (size_.is_short_of(need_bytes)) {
        size_.expect(size_.freeing_bytes());
        if (!make_some()) break;
    }
    size_.expect(need_bytes);
    return fits;
}

}  // namespace gpushim::shim
