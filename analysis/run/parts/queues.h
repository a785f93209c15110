// What GPUs had to do when a call was entered: what was running, what was still waiting, and when a stream
// would be free. Calls in order of enter; memory is that of what has not ended. One thread.
//
//   host        L1 L2 L3            L4               at L3: 2 outstanding, 1 pending (L2), its length is the
//   stream        ███1███ ███2███ ███3███            runway; L3 is behind, the stream is free as 2 ends.
//                                        ███4███     L4: pending 0, behind 3; the latency counts from its end
//
// An operation without device times makes its stream unknown until the next one with times, which began
// after it, unless its call returned when it was over; as long as one stream is, the GPU is.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "../pass/facts.h"

namespace gpushim::analysis {

struct QueueState {
    bool gpu_known, stream_known;
    int64_t outstanding, pending;  // on the GPU: not ended; of them, not started
    int64_t runway_ns;             // how long the pending ones will take
    int64_t gpu_free_ns;           // when all that it had was over
    int64_t stream_free_ns;        // when what was in the stream before ended
    int64_t may_start_ns;          // … and the events that it was told to wait for
};

class Queues {
  public:
    explicit Queues(const TraceFacts& facts);

    void clear();
    QueueState at(int32_t lane, int64_t t_ns);
    void add(const Call& call);  // operations, records and waits; others say nothing

  private:
    struct Item {
        int64_t start_ns, end_ns;
    };
    struct Stream {
        std::vector<Item> items;
        size_t ended = 0, started = 0;  // of them, from the front on
        int64_t change_ns = INT64_MAX;  // when the next one starts or ends
        int64_t end_ns = 0;             // of the last one
        int64_t wait_ns = 0;            // for events
        bool unknown = false;

        bool is_over() const { return ended == items.size(); }
        void forget_ended();
    };
    struct Gpu {
        int64_t outstanding = 0, pending = 0, runway_ns = 0, unknown_streams = 0;
        int64_t end_ns = 0;           // of all so far
        std::vector<int32_t> active;  // streams that are not over
    };
    struct Context {  // the legacy stream and those that join it wait for each other
        int64_t legacy_end_ns = 0, joined_end_ns = 0;
    };
    struct Place {    // of a lane
        int32_t gpu;  // -1: not known
        uint32_t context;
        bool legacy, joins_legacy;
    };
    int64_t free_ns(const Place& place, const Stream& stream) const;
    void advance(Gpu& gpu, int64_t t_ns);
    static void advance(Stream& stream, Gpu& gpu, int64_t t_ns);
    void add_operation(const Call& call, const Place& place, Stream& stream);
    static void set_unknown(Stream& stream, Gpu& gpu, bool unknown);

    std::vector<Place> places_;    // by lane
    std::vector<Stream> streams_;  // by lane
    std::vector<Gpu> gpus_;
    std::vector<Context> contexts_;
    std::unordered_map<int64_t, int64_t> recorded_;  // when events are there
};

}  // namespace gpushim::analysis
