// What begin_timing knows of the streams that the program uses: whose context they are of, and which event of
// ours was put into them last. A stream is held by one thread at a time, for one operation; who finds it held
// goes without timing it. Whatever else the stream is given is counted, so that the next operation knows that
// the last event is not right before it. A stream that does not fit is not known. Lock-free, no allocation;
// any thread.
#pragma once

#include <atomic>
#include <cstdint>

#include "../ring/process_state.h"

namespace gpushim::shim {

constexpr uint32_t kNoContext = 0;                // not known yet
constexpr uint32_t kForeignContext = UINT32_MAX;  // its streams get no events: a green context

struct StreamUse {
    std::atomic<uint64_t> key;
    std::atomic<const ThreadState*> holder;
    std::atomic<uint32_t> uses;  // operations, waits and whatever else it was given, by any thread
    // The holder's. Atomic because a stream may end at any time.
    std::atomic<uint32_t> context;
    std::atomic<uint32_t> end;        // the last event of ours in it (event_pool.h); kNoEvent: none
    std::atomic<uint32_t> end_lives;  // EventPool::lives of it
    std::atomic<uint32_t> end_use;    // which of the uses that was
    std::atomic<uint32_t> others;     // uses_of_others() when that operation began
    std::atomic<uint64_t> window;     // ProcessState::window_from then: between windows nobody counts uses
    std::atomic<uint64_t> what;       // the function of the last operation; 0: it was no launch
    std::atomic<uint32_t> what_use;   // which of the uses that was
    std::atomic<bool> is_apart;       // it does not wait for the legacy stream, nor that one for it
};

// Which stream a call means. The legacy stream waits for all others of its context, and they for it: each
// looks at how often the others were used.
struct StreamKey {
    uint64_t number;
    uint32_t context;  // of a default stream; kNoContext: the stream's own, to be found
    bool is_legacy;
};
StreamKey key_of(const ThreadState& thread, uint64_t stream, bool per_thread);
uint32_t known_context_of(uint64_t stream);  // kNoContext: nobody has told

// Null: another thread holds it, or it does not fit.
StreamUse* hold(const StreamKey& key, const ThreadState& thread);
void release(StreamUse& use);

// The stream is given something that gets no events of ours.
void fence_stream(const StreamKey& key);
void fence_context(uint32_t context);  // all of its streams
uint32_t fences_of(uint32_t context);

// How often the streams were used that this one is ordered with, apart from itself; and whether one of them
// is being used at this moment. Then that this one is, and no longer. Not for those that stand apart.
uint32_t uses_of_others(uint32_t context, bool is_legacy);
bool are_others_used(uint32_t context, bool is_legacy);
void begin_use(uint32_t context, bool is_legacy);
void end_use(uint32_t context, bool is_legacy);

void stream_is_born(uint64_t stream, uint32_t context, bool is_apart);
void stream_is_gone(uint64_t stream);

// In a process that was forked.
void forget_streams();

}  // namespace gpushim::shim
