// What host threads did, for asking why a GPU was idle: each call as what it was to the thread that made it
// (analysis/idle/host_line.h has the words).
//
//   sync, a copy to the host that returns when it is done       sync; also a long copy of a few bytes
//   copy to a device, pageable or of a form that may block      staging
//   memory, load; any other of 2 ms or longer                   alloc_or_load
//   make_graph, and from begin_capture to end_capture            making_graph
//   collective                                                  comm
//   launch, other copies, memset, graph, record, wait           launch, of that GPU; a sync, too, is of one
//   other                                                       other_call
//   host_gap                                                    ran, ready, blocked
//   inside                                                      loading, optimizing, dispatching, python
//
// Calls in order of enter. One thread.
#pragma once

#include <map>
#include <unordered_map>
#include <utility>

#include "../../idle/attribute.h"
#include "../pass/facts.h"

namespace gpushim::analysis {

// none: a host_gap, what a thread was inside of, or rows that are gone
std::optional<What> what_of(const Call& call);

class HostCalls {
  public:
    explicit HostCalls(const TraceFacts& facts);  // which must outlive this

    void begin() {  // of a piece: forgets all
        lines_.clear(), captures_.clear(), event_gpus_.clear();
        last_ = nullptr;
    }
    void take(const Call& call) { take(call, what_of(call)); }
    void take(const Call& call, std::optional<What> what);  // which is what_of the call
    const HostLines& lines() const { return lines_; }
    // Nothing before `t_ns` is asked for any more. If that leaves too much, what is nearer to now goes as
    // well: of that host_unknown will be said.
    void forget_before(int64_t t_ns, int64_t now_ns);

  private:
    static constexpr size_t kMostPieces = 1 << 20;
    static constexpr size_t kMostEvents = 65'536;
    HostLine& line_of(int64_t thread);
    int32_t gpu_of(const Call& call) const {  // of a wait the one whose work is waited for
        return call.lane != kNoLane ? facts_.gpu_of_lane[static_cast<size_t>(call.lane)]
                                    : gpu_of_target(call);
    }
    int32_t gpu_of_target(const Call& call) const;
    void take_call(const Call& call, What what);
    void take_inside(const Call& call);
    void note_event(const Call& call);
    void note_capture(const Call& call);
    size_t size() const;

    const TraceFacts& facts_;
    std::vector<LoadingStage> stages_;                   // by what samples say that it was blocked on
    std::unordered_map<int64_t, int32_t> context_gpus_;  // by handle
    std::unordered_map<int64_t, int32_t> event_gpus_;    // by handle, as recorded last
    HostLines lines_;
    HostLine* last_ = nullptr;  // of last_thread_
    int64_t last_thread_ = 0;
    // When those began that have not ended, by thread and stream.
    static constexpr size_t kMostCaptures = 1024;
    std::map<std::pair<int64_t, int32_t>, int64_t> captures_;
};

}  // namespace gpushim::analysis
