// How NCCL and a profiler plug-in of it speak to each other, interfaces 1 to 6: which functions NCCL finds
// under the name ncclProfiler_vN, and what it hands to them. Written from the published interface, because no
// package of NCCL has a header of it; compared with the sources of the versions named here, and pinned by the
// assertions below. Only what we read has a name.
//
//   interface   1     2           3     4     5     6
//   NCCL        2.23  2.24, 2.25  2.26  2.27  2.28  2.29, 2.30
//
// A newer NCCL asks for all of them, the newest first, and translates what it tells for older ones.
#pragma once

#include <cstddef>
#include <cstdint>

namespace gpushim::shim::nccl_plugin {

constexpr int kNewestInterface = 6;

// What an event is: a bit of the mask that says which events are wanted.
enum What : uint32_t {
    kGroup = 1,
    kCollective = 2,
    kMessage = 4,
    kNetwork = 8,        // what one channel sends to, or receives from, one peer for an operation
    kNetworkStep = 16,   // a piece of that
    kProxyControl = 32,  // the service thread itself
    kChannel = 64,       // a channel's part of the kernel; from interface 3 on
};

// Into what state an event comes.
enum State : int {
    kOperationFirst = 0,  // 0 to 7: how far `kNetwork` is, with the bytes until then; up to interface 3
    kOperationLast = 7,
    kSendWaitsForGpu = 8,
    kSendWaitsForNetwork = 9,
    kReceiveWaitsForNetwork = 10,
    kReceiveFlushes = 11,
    kReceiveWaitsForGpu = 12,
    kSendWaitsForPeer = 20,  // from interface 4 on; before, it is part of the wait for the GPU
    kChannelStopped = 22,
};

struct Collective1 {
    const char* name;
    uint64_t communicator;  // 0, where a newer NCCL translates
    uint64_t sequence;      // nth of its function on the communicator
    uint8_t function;
    const void* send;
    void* receive;
    size_t count;
    int root;
    uint8_t type;
    uint32_t op;
    size_t traffic_bytes;
    uint8_t channels;  // at most
    uint8_t warps;
    uint8_t algorithm;
    uint8_t protocol;
};
struct Collective2 {
    const char* name;
    uint64_t communicator;
    uint64_t sequence;
    const char* function;
    const void* send;
    void* receive;
    size_t count;
    int root;
    const char* type;
    size_t traffic_bytes;
    uint8_t channels;
    uint8_t warps;
    const char* algorithm;
    const char* protocol;
};
struct Collective3 {
    const char* name;
    uint64_t communicator;
    uint64_t sequence;
    const char* function;
    const void* send;
    void* receive;
    size_t count;
    int root;
    const char* type;
    uint8_t channels;
    uint8_t warps;
    const char* algorithm;
    const char* protocol;
};
struct Collective4 {  // 4 to 6
    uint64_t sequence;
    const char* function;
    const void* send;
    void* receive;
    size_t count;
    int root;
    const char* type;
    uint8_t channels;
    uint8_t warps;
    const char* algorithm;
    const char* protocol;
};

struct Message1 {
    const char* name;
    uint64_t communicator;
    uint8_t function;
    void* buffer;
    uint8_t type;
    size_t count;
    int peer;
};
struct Message2 {  // 2 and 3
    const char* name;
    uint64_t communicator;
    const char* function;
    void* buffer;
    const char* type;
    size_t count;
    int peer;
};
struct Message4 {  // 4 to 6
    const char* function;
    void* buffer;
    const char* type;
    size_t count;
    int peer;
    uint8_t channels;
};

struct Network {
    int32_t process;  // whose operation it is: with PXN a neighbour's
    uint8_t channel;
    int peer;
    int steps;
    int chunk_bytes;
    int sends;
};
struct Channel {  // before interface 4 there is no time, and nothing of it may be read
    uint8_t channel;
    uint64_t gpu_ns;  // by the GPU's global timer
};

// Before interface 5 the bytes behind `what` are whatever they are.
template <class Type, class CollectiveN, class MessageN>
struct Event {
    Type what;
    void* parent;
    int rank;
    union {
        CollectiveN collective;
        MessageN message;
        Network network;
        Channel channel;
    };
};
using Event1 = Event<uint8_t, Collective1, Message1>;
using Event2 = Event<uint8_t, Collective2, Message2>;
using Event3 = Event<uint8_t, Collective3, Message2>;
using Event4 = Event<uint8_t, Collective4, Message4>;
using Event5 = Event<uint64_t, Collective4, Message4>;

// What comes with a state, where anything does; the state says which.
union Said {
    size_t bytes;
    uint64_t gpu_ns;
};

// Each returns an ncclResult_t. Some versions ignore an error of `begin` and go on to call the others.
using Log = void (*)(int, unsigned long, const char*, int, const char*, ...);
using Begin1 = int (*)(void** context, int* wanted);
using Begin4 = int (*)(void** context, int* wanted, const char* name, uint64_t communicator, int nodes,
                       int ranks, int rank, Log log);
using Begin5 = int (*)(void** context, uint64_t communicator, int* wanted, const char* name, int nodes,
                       int ranks, int rank, Log log);

template <class Begin, class EventN>
struct Functions {
    const char* name;
    Begin begin;
    int (*start)(void* context, void** handle, const EventN* event);
    int (*stop)(void* handle);  // also of null, before NCCL 2.25
    int (*come_into)(void* handle, int state, const Said* said);
    int (*end)(void* context);
};
using Functions1 = Functions<Begin1, Event1>;
using Functions2 = Functions<Begin1, Event2>;
using Functions3 = Functions<Begin1, Event3>;
using Functions4 = Functions<Begin4, Event4>;
using Functions5 = Functions<Begin5, Event5>;  // and of 6, which only knows more kinds of events

static_assert(offsetof(Event1, parent) == 8 && offsetof(Event1, rank) == 16);
static_assert(offsetof(Event1, collective) == 24 && offsetof(Event4, network) == 24);
static_assert(offsetof(Event5, parent) == 8 && offsetof(Event5, collective) == 24);
static_assert(offsetof(Collective1, function) == 24 && offsetof(Collective1, count) == 48 &&
              offsetof(Collective1, traffic_bytes) == 72 && offsetof(Collective1, channels) == 80 &&
              offsetof(Collective1, algorithm) == 82 && offsetof(Collective1, protocol) == 83);
static_assert(offsetof(Collective2, function) == 24 && offsetof(Collective2, count) == 48 &&
              offsetof(Collective2, type) == 64 && offsetof(Collective2, channels) == 80 &&
              offsetof(Collective2, algorithm) == 88 && offsetof(Collective2, protocol) == 96);
static_assert(offsetof(Collective3, channels) == 72 && offsetof(Collective3, algorithm) == 80 &&
              offsetof(Collective3, protocol) == 88);
static_assert(offsetof(Collective4, function) == 8 && offsetof(Collective4, count) == 32 &&
              offsetof(Collective4, root) == 40 && offsetof(Collective4, channels) == 56 &&
              offsetof(Collective4, algorithm) == 64 && offsetof(Collective4, protocol) == 72);
static_assert(offsetof(Message1, function) == 16 && offsetof(Message1, count) == 40 &&
              offsetof(Message1, peer) == 48);
static_assert(offsetof(Message2, function) == 16 && offsetof(Message2, count) == 40 &&
              offsetof(Message2, peer) == 48);
static_assert(offsetof(Message4, count) == 24 && offsetof(Message4, peer) == 32 &&
              offsetof(Message4, channels) == 36);
static_assert(offsetof(Network, channel) == 4 && offsetof(Network, peer) == 8 &&
              offsetof(Network, steps) == 12 && offsetof(Network, sends) == 20);
static_assert(offsetof(Channel, gpu_ns) == 8 && sizeof(Functions5) == 6 * sizeof(void*));

}  // namespace gpushim::shim::nccl_plugin
