#include "level_errors.h"

#include <algorithm>
#include <bit>

namespace gpushim::shim {
namespace {

constexpr int64_t kLeastNs = 256;
constexpr int kStepsPerOctave = 8;
constexpr int kOctaves = 8;  // of the largest steps: 2^8, 2^16, …

int log2_above(int64_t ns) { return static_cast<int>(std::bit_width(static_cast<uint64_t>(ns - 1))); }

}  // namespace

int64_t rounded_up(int64_t ns, Steps steps) {
    if (ns <= 0) return 0;
    if (ns <= kLeastNs) return kLeastNs;
    if (steps == Steps::octaves) return int64_t{1} << log2_above(ns);
    if (steps == Steps::eight_octaves)
        return int64_t{1} << std::min((log2_above(ns) + kOctaves - 1) / kOctaves * kOctaves, 62);
    const int64_t octave = static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(ns - 1)));
    const int64_t step = octave / kStepsPerOctave;
    return (ns + step - 1) / step * step;
}

size_t LevelErrors::Hash::operator()(const Key& key) const {
    uint64_t hash = 0;
    for (const int64_t number : key) {
        hash = (hash ^ static_cast<uint64_t>(number)) * 0x9e3779b97f4a7c15;
        hash ^= hash >> 29;
    }
    return hash;
}

Steps LevelErrors::steps() const {
    if (ids_.size() < most_) return Steps::eighths;
    return ids_.size() < 2 * most_ ? Steps::octaves : Steps::eight_octaves;
}

int64_t LevelErrors::find(const OperationTimes& times, int events, Steps steps) {
    const Key key = {times.queued ? 1 : 0,
                     rounded_up(times.start_ns - times.start_low_ns, steps),
                     rounded_up(times.start_high_ns - times.start_ns, steps),
                     rounded_up(times.end_ns - times.end_low_ns, steps),
                     rounded_up(times.end_high_ns - times.end_ns, steps),
                     rounded_up(times.likely_ns, steps),
                     events};
    Cached& place = cached(key);
    if (place.key == key) return place.id;
    if (const auto found = ids_.find(key); found != ids_.end()) {
        place = {key, found->second};
        return found->second;
    }
    if (steps != this->steps()) return 0;
    ids_.emplace(key, ++last_id_);
    rows.add({.id = last_id_,
              .level = rows.text(level_),
              .queued = key[0],
              .start_low_ns = key[1],
              .start_high_ns = key[2],
              .end_low_ns = key[3],
              .end_high_ns = key[4],
              .likely_ns = key[5],
              .events = key[6]});
    return last_id_;
}

int64_t LevelErrors::id(const OperationTimes& times, int events) {
    for (const Steps step : {Steps::eighths, Steps::octaves, Steps::eight_octaves})
        if (const int64_t found = find(times, events, step); found != 0) return found;
    return 0;  // never: the largest steps always have a place
}

}  // namespace gpushim::shim
