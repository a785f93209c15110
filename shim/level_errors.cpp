#include "level_errors.h"

#include <bit>

namespace gpushim::shim {
namespace {

constexpr int64_t kLeastNs = 256;
constexpr int kStepsPerOctave = 8;

}  // namespace

int64_t rounded_up(int64_t ns) {
    if (ns <= 0) return 0;
    if (ns <= kLeastNs) return kLeastNs;
    const int64_t octave = static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(ns - 1)));
    const int64_t step = octave / kStepsPerOctave;
    return (ns + step - 1) / step * step;
}

int64_t LevelErrors::id(const OperationTimes& times, int events) {
    const Key key = {times.queued ? 1 : 0,
                     rounded_up(times.start_ns - times.start_low_ns),
                     rounded_up(times.start_high_ns - times.start_ns),
                     rounded_up(times.end_ns - times.end_low_ns),
                     rounded_up(times.end_high_ns - times.end_ns),
                     rounded_up(times.likely_ns),
                     events};
    const auto [place, is_new] = ids_.try_emplace(key, last_id_ + 1);
    if (!is_new) return place->second;
    ++last_id_;
    rows.add(last_id_, rows.text("events"), key[0], key[1], key[2], key[3], key[4], key[5], key[6]);
    return last_id_;
}

}  // namespace gpushim::shim
