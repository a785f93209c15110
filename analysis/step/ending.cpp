#include "ending.h"

#include <algorithm>

namespace gpushim::analysis {

void Ending::add(int64_t from, int64_t to, int64_t from_ns) {
    if (pieces_ > 0 && from < from_) return;  // known by a later piece, of an ending that has begun again
    score_ -= kOfTen * std::max<int64_t>(0, from - to_);
    if (pieces_ == 0 || score_ < 0) {
        *this = {};
        from_ = to_ = from;
        from_ns_ = from_ns;
    }
    score_ += (10 - kOfTen) * (to - from);
    launches_ += to - from;
    to_ = std::max(to_, to);
    ++pieces_;
}

double Ending::explained_share(int64_t launches_of_run) const {
    const int64_t length = launches_of_run - from_;
    return pieces_ == 0 || length <= 0 ? 0 : static_cast<double>(launches_) / static_cast<double>(length);
}

}  // namespace gpushim::analysis
