#include "ranges.h"

#include "handles.h"

namespace gpushim::shim {
namespace {

// How many ranges may begin between one and an address inside it: ended ones, which are not forgotten yet.
constexpr int kLookBack = 64;

}  // namespace

void AddressRanges::add(const HeldOf& of, int64_t bytes, int64_t time_ns) {
    const int64_t held = held_bytes_[of] += bytes;
    Peak& peak = peaks_[of];
    if (held <= peak.bytes) return;
    peak = {held, time_ns};
    raised_.insert(of);
}

void AddressRanges::count(const AddressRange& range, int64_t sign) {
    const int64_t bytes = sign * static_cast<int64_t>(range.bytes);
    if (range.counted) add({range.context, range.memory, 0}, bytes, range.since_ns);
    if (range.pool_id != kNull) add({0, range.memory, range.pool_id}, bytes, range.since_ns);
}

void AddressRanges::born(uint64_t address, const AddressRange& range) {
    ranges_.emplace(address, range);
    count(range, 1);
}

const AddressRange* AddressRanges::died(uint64_t address, int64_t time_ns) {
    auto place = ranges_.upper_bound(address);
    while (place != ranges_.begin() && (--place)->first == address) {
        AddressRange& range = place->second;
        if (range.since_ns > time_ns || range.died_ns <= time_ns) continue;
        range.died_ns = time_ns;
        count(range, -1);
        ended_.emplace_back(time_ns, address);
        return &range;
    }
    return nullptr;
}

const AddressRange* AddressRanges::find(uint64_t address, int64_t time_ns) const {
    auto place = ranges_.upper_bound(address);
    for (int i = 0; i < kLookBack && place != ranges_.begin(); ++i) {
        --place;
        const AddressRange& range = place->second;
        const bool covers = address - place->first < range.bytes;
        if (covers && range.since_ns <= time_ns && time_ns < range.died_ns) return &range;
    }
    return nullptr;
}

int64_t AddressRanges::held_bytes(Memory memory, uint32_t context) const {
    const auto found = held_bytes_.find({context, memory, 0});
    return found == held_bytes_.end() ? 0 : found->second;
}

// Of one address the oldest is the first: one of many lives is found at once.
void AddressRanges::forget_before(int64_t time_ns) {
    for (; !ended_.empty() && ended_.front().first < time_ns; ended_.pop_front()) {
        const auto [died_ns, address] = ended_.front();
        auto [place, end] = ranges_.equal_range(address);
        while (place != end && place->second.died_ns != died_ns) ++place;
        if (place != end) ranges_.erase(place);
    }
}

}  // namespace gpushim::shim
