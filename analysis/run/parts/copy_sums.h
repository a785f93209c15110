// Copies, those that are alike together, and memsets. Counts and bytes of the whole run, durations of pieces.
//
//   step      |─────────────────────|─────────────────────|      alike: kind, memory, position in the step
//   copies     h2d0 h2d1      d2h0    h2d0 h2d1      d2h0        among those of the kind, and about the size
//
// Of the calls that its part (operation_part.cpp) is given. One thread.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <tuple>
#include <vector>

#include "../pass/part.h"
#include "../sql/histogram.h"
#include "concurrency.h"
#include "copies.h"
#include "places.h"

namespace gpushim::analysis {

class CopySums {
  public:
    CopySums(const TraceFacts& facts, const Places& places);

    // `gpu`: index into facts.gpus; the one behind the last: not known.
    void see(const Call& operation, size_t gpu) {
        if (operation.type == OperationClass::compute || operation.type == OperationClass::graph)
            ++launched_[gpu];
        else if (is_copy_or_memset(operation))
            see_copy_or_memset(operation, gpu);
    }
    void begin(const TimedPiece& piece);
    // Which copies it is one of, if it counts, and has device times as `ended` will say.
    std::optional<uint64_t> take(const Call& operation, size_t gpu, bool before) {
        if (before || !is_copy_or_memset(operation)) return {};
        return take_copy_or_memset(operation, gpu);
    }
    void ended(uint64_t alike, const Ran& copy) { alike_[alike].blocks_ns += copy.alone_ns; }
    void finish(RunDb& run);

  private:
    struct Key {
        uint32_t place;
        OperationClass type;
        bool blocking;
        int8_t position;
        int8_t size;  // exponent of the power of two
        int16_t sides;

        auto operator<=>(const Key&) const = default;
    };
    struct Alike {
        Moments bytes;
        int64_t call_sum_ns = 0, steps = 0, behind_kernels = 0;
        int32_t last_step = kNoStep;
        int64_t timed = 0, sum_ns = 0, timed_bytes = 0, blocks_ns = 0;
        double best = 0;
    };
    struct Memsets {
        Moments bytes;
        int64_t timed = 0, sum_ns = 0;
    };
    struct Position {
        int32_t step = kNoStep;
        int64_t next[static_cast<size_t>(OperationClass::graph) + 1] = {};
    };
    // A step may be gone through twice: as it was recorded, and as it would have been. Of one that is not
    // whole in its piece the position of a copy is not known the second time.
    enum Which { seen_, taken_ };
    struct WholeSteps {
        int32_t first = 0, last = -1;
        bool has(int32_t step) const { return step >= first && step <= last; }
    };
    static constexpr int64_t kLastPosition = 63;  // or later: steps with very many copies make no more rows
    static constexpr int8_t kNoPosition = -1;
    static constexpr int64_t kSizeNotTold = -1;  // rows that are gone: only the totals have them

    static bool is_copy_or_memset(const Call& call) {
        return is_copy(call) || call.type == OperationClass::memset;
    }
    void see_copy_or_memset(const Call& call, size_t gpu);
    std::optional<uint64_t> take_copy_or_memset(const Call& call, size_t gpu);
    bool is_behind_kernels(const Call& copy, size_t gpu);
    int8_t next_position(const Call& copy, size_t gpu, Which which);
    Key key_of(const Call& copy, int8_t position) const;
    static int8_t size_of(int64_t bytes);
    static Key without_size(Key key);
    uint64_t number_of(const Key& key);
    static void add_time(Alike& alike, int64_t bytes, const DeviceTimes& times);
    static int64_t surely_ns(const DeviceTimes& times);
    void read_totals();
    void read_memset_totals();
    static OperationClass class_of(int64_t direction);
    void write(RunDb& run, const Key& key, const Alike& alike) const;
    static void write(RunDb& run, const Place& place, const Memsets& memsets);

    const TraceFacts& facts_;
    const Places& places_;
    std::vector<std::array<Position, 2>> positions_;  // by GPU
    WholeSteps whole_;
    std::vector<int64_t> launched_;  // kernels and graphs, by GPU
    std::map<std::tuple<size_t, OperationClass, int8_t>, int64_t> launched_before_;  // copies of that size
    std::map<Key, uint64_t> numbers_;
    std::vector<Alike> alike_;
    std::vector<Memsets> memsets_;  // by place
};

}  // namespace gpushim::analysis
