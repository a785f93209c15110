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

#include <algorithm>
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
    [[gnu::always_inline]] QueueState at(int32_t lane, int64_t t_ns) {
        if (lane < 0) return {};
        const Stream& stream = streams_[static_cast<size_t>(lane)];
        if (stream.gpu < 0) return {};
        Gpu& gpu = gpus_[static_cast<size_t>(stream.gpu)];
        advance(gpu, t_ns);
        const int64_t free = stream.is_joined ? joined_free_ns(stream) : stream.end_ns;
        return {gpu.unknown_streams == 0,
                !stream.unknown,
                gpu.outstanding,
                gpu.pending,
                gpu.runway_ns,
                gpu.end_ns,
                free,
                std::max(free, stream.wait_ns)};
    }
    [[gnu::always_inline]] void add(const Call& call) {  // operations, records and waits; others say nothing
        if (call.lane < 0) return;
        Stream& stream = streams_[static_cast<size_t>(call.lane)];
        if (stream.gpu < 0) return;
        if (call.kind == CallKind::operation)
            add_operation(call, stream);
        else
            add_event(call, stream);
    }

  private:
    struct Item {
        int64_t start_ns, end_ns;
    };
    struct Stream {
        int32_t gpu = -1;  // -1: not known
        uint32_t context = 0;
        bool legacy = false, joins_legacy = false, is_joined = false;  // one of both
        bool unknown = false;
        std::vector<Item> items;
        size_t ended = 0;                 // of them, from the front on
        size_t running = 0, waiting = 0;  // of them, behind these
        int64_t change_ns = INT64_MAX;    // when the next one starts or ends
        int64_t end_ns = 0;               // of the last one
        int64_t wait_ns = 0;              // for events

        void clear();  // all but where it is
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
    int64_t joined_free_ns(const Stream& stream) const;
    [[gnu::always_inline]] void advance(Gpu& gpu, int64_t t_ns) {
        for (size_t left = gpu.active.size(), i = 0; i < left;) {
            Stream& stream = streams_[static_cast<size_t>(gpu.active[i])];
            if (stream.change_ns <= t_ns && ends(stream, gpu, t_ns)) {
                gpu.active[i] = gpu.active[--left];
                gpu.active.pop_back();
            } else {
                ++i;
            }
        }
    }
    static bool ends(Stream& stream, Gpu& gpu, int64_t t_ns);
    [[gnu::always_inline]] void add_operation(const Call& call, Stream& stream) {
        Gpu& gpu = gpus_[static_cast<size_t>(stream.gpu)];
        const bool is_unknown = !call.timed && !call.completes;
        if (is_unknown != stream.unknown) set_unknown(stream, gpu, is_unknown);
        if (!call.timed) return;
        const int64_t start_ns = call.times.start_ns, end_ns = std::max(start_ns, call.times.end_ns);
        if (stream.waiting + stream.running == 0) gpu.active.push_back(call.lane);
        if (stream.waiting++ == 0) stream.change_ns = std::min(stream.change_ns, start_ns);
        stream.items.push_back({start_ns, end_ns});
        ++gpu.outstanding;
        ++gpu.pending;
        gpu.runway_ns += end_ns - start_ns;
        stream.end_ns = std::max(stream.end_ns, end_ns);
        gpu.end_ns = std::max(gpu.end_ns, end_ns);
        if (stream.is_joined) note_end(stream, end_ns);
    }
    void note_end(const Stream& stream, int64_t end_ns);
    void add_event(const Call& call, Stream& stream);
    static void set_unknown(Stream& stream, Gpu& gpu, bool unknown);

    std::vector<Stream> streams_;  // by lane
    std::vector<Gpu> gpus_;
    std::vector<Context> contexts_;
    std::unordered_map<int64_t, int64_t> recorded_;  // when events are there
};

}  // namespace gpushim::analysis
