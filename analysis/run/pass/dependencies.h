// What operations waited for beside their stream's order: events of other streams, and functions of the host.
//
//   GPU 1   S  ██████████|r                  r: an event is recorded here
//   GPU 0   L     ███|w           |███N███   w: told to wait for it. N waits for the other GPU until r is
//   there
//
//   GPU 0   L     ███|f░░░░░░░░░░░|███N███   f: a function of the host. When it is over nobody sees, but a
//   wait
//                                            of the host for the stream tells that it was
//
// Calls in order of enter, of one piece; what was recorded before it is not known. One thread.
#pragma once

#include <algorithm>
#include <unordered_map>
#include <vector>

#include "facts.h"

namespace gpushim::analysis {

struct Dependency {
    int64_t other_gpu_until_ns = INT64_MIN;  // an event of another GPU was not there before
    bool host_callback = false;              // a function of the host was before it, not known to be over
    int64_t ready_ns = INT64_MIN;            // what was before it, as far as it is known, was over then

    bool any() const { return other_gpu_until_ns != INT64_MIN || host_callback; }
};

class Dependencies {
  public:
    explicit Dependencies(const TraceFacts& facts);  // which must outlive this

    void begin();                             // of a piece: forgets all
    void take(const Call& call);              // any but operations
    Dependency operation(const Call& call) {  // which is in a lane
        Stream& stream = streams_[static_cast<size_t>(call.lane)];
        Dependency result;
        if (stream.has_waits) result = end_waits(call, stream);
        result.ready_ns = std::max(result.ready_ns, stream.last_end_ns);
        if (call.timed && call.times.end_ns >= stream.last_end_ns) stream.last_end_ns = call.times.end_ns;
        return result;
    }

  private:
    static constexpr int64_t kNever = INT64_MIN;
    // What one must wait for that is in a stream behind it.
    struct Wait {
        int64_t until_ns = kNever;
        int32_t gpu = -1;                    // whose work ends then
        int64_t callback_until_ns = kNever;  // a function of the host is over by then
    };
    struct Stream {
        int64_t last_end_ns = kNever;  // of its operations
        bool has_waits = false;        // no operation came behind what follows; most streams have none
        Wait waits;                    // what the next one must wait for beside that
        int64_t callback_enter_ns = kNever;
    };
    struct Event {
        Wait wait;
        int32_t lane;
        int64_t enter_ns;
    };
    Dependency end_waits(const Call& operation, Stream& stream) const;
    void record(const Call& call);
    void wait(const Call& call);
    void sync(const Call& call);
    void over(int32_t lane, int64_t before_ns, int64_t at_ns);

    const TraceFacts& facts_;
    std::vector<Stream> streams_;                // by lane
    std::unordered_map<int64_t, Event> events_;  // by handle
};

}  // namespace gpushim::analysis
