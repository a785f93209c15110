// Streams share a device's hardware queues: an event of ours that waits in one stream holds up what another
// has behind it in their queue. So where there may not be a queue for each stream, few streams get events.
//
//   queues (CUDA_DEVICE_MAX_CONNECTIONS, else 8)   streams in use        get events
//   at least 8                                     no more than queues   all
//   1                                              more than one         none
//   any                                            else                  the one that is used most
//
// Fewer than 8 were asked for by somebody whose overlap hangs on them: there a context's first operations get
// none, until it is seen how many streams it uses. Streams of a context that shared once share for good. On
// the program's thread; no allocation, no lock.
#pragma once

#include <cstdint>
#include <span>

namespace gpushim::shim {

struct Variable;

constexpr uint32_t kUsualQueues = 8;
constexpr uint32_t kFirstLooks = 256;  // operations of a context that has fewer

// When recording starts, before any window.
void find_hardware_queues(std::span<const Variable> environment);
uint32_t hardware_queues();

// May this use get events? `number`: how often the stream was used, so far. `is_new`: the stream's first in
// this window.
bool may_get_events(uint32_t context, uint64_t stream, uint32_t number, bool is_new, uint64_t window);

// Whether some context's streams get fewer than they might: for the trace.
enum class Sharing : uint8_t { none_seen, one_gets_events, none_gets_events };
Sharing seen_sharing();

// An event of ours has waited for so long where streams share queues: what it holds up may be what it waits
// for. No more events from now on. The driver's thread.
constexpr int64_t kLongestWaitNs = 5'000'000'000;
void stop_events();
bool are_events_stopped();

void forget_hardware_queues();  // in a process that was forked

}  // namespace gpushim::shim
