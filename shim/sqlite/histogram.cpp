#include "histogram.h"

#include <algorithm>

namespace gpushim::shim {

void Histogram::add_to(uint8_t number, uint64_t times) {
    if (last_ < buckets_.size() && buckets_[last_].number == number) {
        buckets_[last_].count += times;
        return;
    }
    const auto place =
        std::lower_bound(buckets_.begin(), buckets_.end(), number,
                         [](const Bucket& bucket, uint8_t wanted) { return bucket.number < wanted; });
    last_ = static_cast<size_t>(place - buckets_.begin());
    if (place != buckets_.end() && place->number == number)
        place->count += times;
    else
        buckets_.insert(place, {number, times});
}

void Histogram::add(std::span<const uint8_t> bytes) {
    size_t at = 0;
    while (at < bytes.size()) {
        const uint8_t number = bytes[at++];
        uint64_t count = 0;
        bool is_whole = false;
        for (int shift = 0; !is_whole && shift < 64 && at < bytes.size(); shift += 7) {
            const uint8_t byte = bytes[at++];
            count |= uint64_t{byte & 0x7fu} << shift;
            is_whole = (byte & 0x80) == 0;
        }
        if (!is_whole) return;
        add_to(number, count);
    }
}

std::span<const uint8_t> Histogram::bytes() {
    bytes_.clear();
    for (const auto& [number, count] : buckets_) {
        bytes_.push_back(number);
        uint64_t rest = count;
        for (; rest >= 0x80; rest >>= 7) bytes_.push_back(static_cast<uint8_t>(rest | 0x80));
        bytes_.push_back(static_cast<uint8_t>(rest));
    }
    return bytes_;
}

}  // namespace gpushim::shim
