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
// A collective is over for all ranks at about the same time. So each operation also has the latest collective
// that it came after, through streams, events or waits of the host; and a collective when the work before it
// was over, other than collectives before it in its own stream:
//
//   compute   ██1██|██2██|            r: an event is recorded here; C2 waited for it, and is behind C1
//   comm            [──C1──][─C2─]    C2: work_ready_ns is the end of 2, behind_enter_ns is C1's
//
// Calls in order of enter, of one piece; what was recorded before it is not known. One thread.
#pragma once

#include <unordered_map>
#include <vector>

#include "facts.h"

namespace gpushim::analysis {

struct Dependency {
    int64_t other_gpu_until_ns = INT64_MIN;  // an event of another GPU was not there before
    bool host_callback = false;              // a function of the host was before it, not known to be over
    int64_t ready_ns = INT64_MIN;            // what was before it, as far as it is known, was over then
    // Of a collective; INT64_MIN: none is known.
    int64_t work_ready_ns = INT64_MIN;    // as ready_ns, without a collective right before it in its stream
    int64_t after_enter_ns = INT64_MIN;   // the latest collective that this work came after
    int64_t behind_enter_ns = INT64_MIN;  // the one right before it in its stream

    bool any() const { return other_gpu_until_ns != INT64_MIN || host_callback; }
};

class Dependencies {
  public:
    explicit Dependencies(const TraceFacts& facts);  // which must outlive this

    void begin();                            // of a piece: forgets all
    void take(const Call& call);             // any but operations
    Dependency operation(const Call& call);  // which is in a lane

  private:
    static constexpr int64_t kNever = INT64_MIN;
    struct Collective {
        int64_t enter_ns = kNever, end_ns = kNever;
    };
    // What one must wait for that is in a stream behind it.
    struct Wait {
        int64_t until_ns = kNever;
        int32_t gpu = -1;                    // whose work ends then
        int64_t callback_until_ns = kNever;  // a function of the host is over by then
        Collective after;                    // the latest collective that is over by then
        bool is_collective = false;          // it is one itself
    };
    struct Stream {
        Wait last;   // its last operation
        Wait waits;  // what the next one must wait for beside that
        int64_t callback_enter_ns = kNever;
    };
    struct Event {
        Wait wait;
        int32_t lane;
        int64_t enter_ns;
    };
    void record(const Call& call);
    void wait(const Call& call);
    void sync(const Call& call);
    void over(int32_t lane, int64_t before_ns, int64_t at_ns);
    static Collective later(const Collective& one, const Collective& other);
    void host_saw(const Collective& one, int64_t at_ns);

    const TraceFacts& facts_;
    std::vector<Stream> streams_;                // by lane
    std::unordered_map<int64_t, Event> events_;  // by handle
    Collective host_;                            // the latest one that the host waited for
};

}  // namespace gpushim::analysis
