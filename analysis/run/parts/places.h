// Where the rows of a call go: the GPU and the stream that it was on. Streams that are not known, and those
// that the totals do not tell apart any more, are one place of their own; it is on the trace's GPU if there
// is only one. Also whether the trace has totals. Read-only once made; any thread.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "../pass/facts.h"

namespace gpushim::analysis {

constexpr int64_t kNotTold = -1;  // as gpu_id, stream_id

struct Place {
    int64_t gpu_id, stream_id;
    int32_t gpu;  // index into facts.gpus; -1: not known
    std::string stream;
};

class Places {
  public:
    explicit Places(const TraceFacts& facts);

    size_t size() const { return all_.size(); }
    const Place& operator[](size_t place) const { return all_[place]; }
    size_t of(const Call& call) const { return call.lane < 0 ? not_told_ : static_cast<size_t>(call.lane); }
    int32_t gpu_of(const Call& call) const {  // as Place::gpu
        return call.lane < 0 ? only_gpu_ : gpu_of_lane_[static_cast<size_t>(call.lane)];
    }
    size_t of_stream(std::optional<int64_t> stream_id) const;
    int32_t gpu_of_device(std::optional<int64_t> device_id) const;

  private:
    std::vector<Place> all_;  // by lane; the last: not told
    size_t not_told_ = 0;     // the last one of them
    std::vector<int32_t> gpu_of_lane_;
    std::unordered_map<int64_t, size_t> by_stream_;
    std::unordered_map<int64_t, int32_t> by_device_;
    int32_t only_gpu_ = -1;
};

// Whether it sums up its events (rollup): traces of the first schema and imported ones do not.
bool has_totals(const Trace& trace);

}  // namespace gpushim::analysis
