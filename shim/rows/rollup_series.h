// What is summed up together in `rollup`: events of one table that are alike, as rows of `series`. A function
// and its stream for launches, direction, kinds of memory and stream for copies, and so on; never what a
// later row could change. Their number is bounded: of what comes beyond, the stream counts no longer as a
// difference, and where even that is too much only the call does. The writer's thread only.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "../sqlite/database.h"
#include "tables.h"

namespace gpushim::shim {

// The table of the events.
enum class SeriesKind : uint8_t {
#define EVENT(name, ...) name,
#include "../schema/tables.def"
    count
};

struct Series {
    SeriesKind kind;
    int64_t flags;
    int64_t api = kNull;
    int64_t stream = kNull;
    // A launch's function (name.id), a graph.id, a communicator.id, or the Object that a sync waited for.
    int64_t object = kNull;
    // Launch without a name: the function's handle.id; copy: direction, sides; collective: type, operation,
    // bytes.
    std::array<int64_t, 3> detail = {kNull, kNull, kNull};
    bool of_device = false;  // the times of those events on their device
    bool operator==(const Series&) const = default;
};

class SeriesList {
  public:
    // Above `most` streams make no difference any more.
    explicit SeriesList(Tables& tables, size_t most) : tables_(tables), most_(most) {}
    void load(Database& base);

    int64_t id(const Series& series);
    int64_t device_times_of(int64_t id);  // of a launch, copy, memset or graph_launch
    uint64_t left_out() const { return left_out_; }

  private:
    struct Hash {
        size_t operator()(const Series& series) const;
    };
    struct Cached {
        Series series;
        int64_t id = 0;
    };
    static constexpr size_t kFewCached = 16, kCached = 1024;  // a short process does not pay for many
    int64_t known(const Series& series);
    int64_t make(const Series& series);
    void remember(const Series& series, int64_t id);

    Tables& tables_;
    const size_t most_;
    std::unordered_map<Series, int64_t, Hash> ids_;
    std::vector<const Series*> by_id_ = {nullptr};
    std::vector<int64_t> device_times_;  // by id; 0: none yet
    std::vector<Cached> cached_;
    size_t not_cached_ = 0;
    uint64_t left_out_ = 0;
};

}  // namespace gpushim::shim
