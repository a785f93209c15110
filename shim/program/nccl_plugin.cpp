// What NCCL calls. An event that it starts gets a place in a table, whose number and generation are the
// handle; when NCCL stops it, one slot goes into the ring of the thread that does. Pieces of a network
// operation are added up in its place: their times in each state are sums over pieces, of which up to 8 are
// under way at once.
#include "../base/config.h"
#include "../base/system.h"
#include "../ring/nccl_view.h"
#include "../ring/recorder.h"
#include "nccl_places.h"
#include "nccl_plugin_layout.h"
#include "nccl_plugin_tables.h"

namespace gpushim::shim {
namespace {

using namespace nccl_plugin;

// --- communicators ----------------------------------------------------------------------------------------

// What `begin` was told, until it can be written: NCCL may begin before recording does. A context of NCCL's
// is the number of the communicator, from 1 on.
struct Joined {
    std::atomic<bool> is_waiting;
    uint8_t interface;
    uint64_t communicator;
    int32_t rank, ranks, nodes;
};
constexpr uint64_t kMostJoined = 1024;
constinit Joined joined[kMostJoined] = {};
constinit std::atomic<uint64_t> communicators = 0;
constinit std::atomic<int> interface_taken = 0;

uint64_t number_of(const void* context) { return reinterpret_cast<uint64_t>(context); }

constinit std::atomic<uint64_t> lost = 0;
// Groups need a handle, or old versions tell nothing of what is in them; ours is none of a place.
constinit char group_handle = 0;

// --- the ring ---------------------------------------------------------------------------------------------

// Slots that the call around it may still need.
constexpr uint64_t kLeftForTheCall = 2;

// What is missing is no event of the program's, so it is counted here.
template <class E>
void put(uint64_t enter, uint64_t exit, const E& words) {
    const KeepErrno keep;
    ThreadState& thread = thread_state;
    close_poll(thread);
    if (!find_room(thread, 1 + kLeftForTheCall)) {
        lost.fetch_add(1, std::memory_order_relaxed);
        return;
    }
    const uint64_t position = thread.ring->head.load(std::memory_order_relaxed);
    Slot& slot = thread.slots[position & thread.mask];
    slot.api = kNoApi;
    slot.kind = static_cast<uint8_t>(E::kind);
    slot.flags = 0;
    slot.context = thread.context;
    slot.group = thread.group;
    slot.enter = enter;
    slot.exit = exit;
    put_words(slot, words);
    thread.ring->head.store(position + 1, std::memory_order_relaxed);
    // Release: who reads "complete" reads all that was stored before.
    slot.mark.store(complete_mark(position), std::memory_order_release);
}

void write_joined(uint64_t number) {
    if (number == 0 || number > kMostJoined) return;
    Joined& one = joined[number - 1];
    if (!one.is_waiting.load(std::memory_order_relaxed)) return;
    // Acquire: what `begin` has put there.
    if (!one.is_waiting.exchange(false, std::memory_order_acquire)) return;
    const uint64_t now = ticks();
    put(now, now,
        event::nccl_joined{number | uint64_t{one.interface} << 32, one.communicator,
                           static_cast<uint32_t>(one.rank) | uint64_t{static_cast<uint32_t>(one.ranks)} << 32,
                           static_cast<uint32_t>(one.nodes)});
}

void write(const NcclPlace& place) {
    const uint64_t now = ticks();
    const uint64_t handle = place.handle.load(std::memory_order_relaxed);
    write_joined(place.what >> kNcclContextShift);
    switch (place.kind) {
        case EventKind::nccl_operation:
            return put(place.started, now,
                       event::nccl_operation{handle, place.what, place.value, place.more});
        case EventKind::nccl_channel:
            return put(place.started, now,
                       event::nccl_channel{place.parent, place.what, place.value, place.more});
        default:
            return put(place.started, now,
                       event::nccl_network{place.parent, place.what, nccl_sizes(place.bytes, place.steps),
                                           nccl_waits(place.waited)});
    }
}

// --- begin ------------------------------------------------------------------------------------------------

int mask_of(int interface) {
    const int network = kCollective | kMessage | kNetwork | kNetworkStep;
    switch (config.nccl_profiler) {
        case NcclProfiler::off:
            break;
        case NcclProfiler::network:
            return network;
        case NcclProfiler::all:
            return interface >= 3 ? network | kChannel : network;
    }
    return 0;
}

// Never an error: some versions go on to call a plug-in that returned one.
int begin(int interface, void** context, int* wanted, uint64_t communicator, int nodes, int ranks, int rank) {
    const uint64_t number = communicators.fetch_add(1, std::memory_order_relaxed) + 1;
    *context = reinterpret_cast<void*>(number);
    interface_taken.store(interface, std::memory_order_relaxed);
    // The mask is one for all communicators, and all get the same.
    *wanted = mask_of(interface);
    if (number > kMostJoined) return 0;
    Joined& one = joined[number - 1];
    one.interface = static_cast<uint8_t>(interface);
    one.communicator = communicator;
    one.rank = rank, one.ranks = ranks, one.nodes = nodes;
    one.is_waiting.store(true, std::memory_order_release);
    if (is_written()) write_joined(number);
    return 0;
}

template <int interface>
int begin1(void** context, int* wanted) {
    return begin(interface, context, wanted, 0, 0, 0, 0);
}
int begin4(void** context, int* wanted, const char*, uint64_t communicator, int nodes, int ranks, int rank,
           Log) {
    return begin(4, context, wanted, communicator, nodes, ranks, rank);
}
template <int interface>
int begin5(void** context, uint64_t communicator, int* wanted, const char*, int nodes, int ranks, int rank,
           Log) {
    return begin(interface, context, wanted, communicator, nodes, ranks, rank);
}

// --- start ------------------------------------------------------------------------------------------------

uint64_t context_bits(const void* context) {
    const uint64_t number = number_of(context);
    return number <= kMostNcclContexts ? number << kNcclContextShift : 0;
}

template <class Collective>
void fill(NcclPlace& place, const Collective& c) {
    place.kind = EventKind::nccl_operation;
    place.what |= nccl_word(NcclOperationWord{nccl_code(kNcclFunctions, c.function),
                                              nccl_code(kNcclAlgorithms, c.algorithm),
                                              nccl_code(kNcclProtocols, c.protocol), c.channels, false});
    place.value = c.count;
    place.more = c.sequence;
}
template <class Message>
void fill_message(NcclPlace& place, const Message& m) {
    uint64_t channels = 0;
    if constexpr (requires { m.channels; }) channels = m.channels;
    place.kind = EventKind::nccl_operation;
    place.what |= nccl_word(NcclOperationWord{nccl_code(kNcclFunctions, m.function), 0, 0, channels, true});
    place.value = m.count;
    place.more = static_cast<uint32_t>(m.peer);
}

// With PXN the operation is another process's: its handle and its context mean nothing here.
void fill(NcclPlace& place, const Network& n, const void* parent) {
    const bool is_own = n.process == process_state->pid;
    place.kind = EventKind::nccl_network;
    place.parent = is_own ? reinterpret_cast<uint64_t>(parent) : 0;
    if (!is_own) place.what = 0;
    if (!is_own) place.context.store(0, std::memory_order_relaxed);
    place.what |= nccl_word(NcclNetworkWord{static_cast<uint32_t>(n.peer), n.channel, n.sends != 0, !is_own});
}

// A step belongs to an operation that is under way, else it says nothing.
void start_step(void** handle, const void* parent) {
    const NcclPlace* operation = find_place(parent);
    if (operation == nullptr) return;
    NcclPlace* step = take_place(handle, operation->context.load(std::memory_order_relaxed));
    if (step == nullptr) return;
    step->is_step = true;
    step->parent = reinterpret_cast<uint64_t>(parent);
    step->value = step->started;
}

template <int interface, class EventN>
void start_operation(const void* context, void** handle, const EventN& event) {
    NcclPlace* place = take_place(handle, number_of(context));
    if (place == nullptr) return;
    place->what = context_bits(context);
    switch (event.what) {
        case kCollective:
            return fill(*place, event.collective);
        case kMessage:
            return fill_message(*place, event.message);
        case kNetwork:
            return fill(*place, event.network, event.parent);
        default:
            place->kind = EventKind::nccl_channel;
            place->parent = reinterpret_cast<uint64_t>(event.parent);
            place->what |= event.channel.channel;
            if constexpr (interface >= 4) place->value = event.channel.gpu_ns;
    }
}

template <int interface, class EventN>
int start(void* context, void** handle, const EventN* event) {
    *handle = event->what == kGroup ? &group_handle : nullptr;
    if (!recording()) return 0;
    switch (event->what) {
        case kCollective:
        case kMessage:
        case kNetwork:
        case kChannel:
            start_operation<interface>(context, handle, *event);
            return 0;
        case kNetworkStep:
            start_step(handle, event->parent);
            return 0;
        default:
            return 0;
    }
}

// --- and then ---------------------------------------------------------------------------------------------

int wait_of(int state) {
    switch (state) {
        case kSendWaitsForGpu:
        case kReceiveWaitsForGpu:
            return kNcclWaitsForGpu;
        case kSendWaitsForPeer:
            return kNcclWaitsForPeer;
        case kSendWaitsForNetwork:
        case kReceiveWaitsForNetwork:
        case kReceiveFlushes:
            return kNcclWaitsForNetwork;
        default:
            return -1;
    }
}

// One thread of NCCL's starts, moves and stops an operation and its steps.
void leave_state(NcclPlace& step, uint64_t now) {
    NcclPlace* operation = find_place(reinterpret_cast<const void*>(step.parent));
    const int wait = wait_of(step.state);
    if (operation != nullptr && wait >= 0) operation->waited[wait] += now - step.value;
    step.value = now;
}

// With interface 4 the size comes when a piece is sent, or has been received.
void step_comes_into(NcclPlace& step, int state, const Said* said, bool tells_bytes) {
    leave_state(step, ticks());
    step.state = state;
    if (!tells_bytes || said == nullptr || (state != kSendWaitsForNetwork && state != kReceiveFlushes))
        return;
    if (NcclPlace* operation = find_place(reinterpret_cast<const void*>(step.parent)))
        operation->bytes += said->bytes;
}

template <int interface>
int come_into(void* handle, int state, const Said* said) {
    NcclPlace* place = find_place(handle);
    if (place == nullptr) return 0;
    if (place->is_step)
        step_comes_into(*place, state, said, interface >= 4);
    else if (state == kChannelStopped && said != nullptr && place->kind == EventKind::nccl_channel)
        place->more = said->gpu_ns;
    else if (interface <= 3 && state <= kOperationLast && said != nullptr && said->bytes > place->bytes)
        place->bytes = said->bytes;
    return 0;
}

int stop(void* handle) {
    NcclPlace* place = find_place(handle);
    if (place == nullptr) return 0;
    if (place->is_step) {
        leave_state(*place, ticks());
        if (NcclPlace* operation = find_place(reinterpret_cast<const void*>(place->parent)))
            ++operation->steps;
    } else if (recording()) {
        write(*place);
    }
    free_place(*place);
    return 0;
}

// After all others of this communicator.
int end(void* context) {
    free_places_of(number_of(context));
    return 0;
}

// --- what is handed out -----------------------------------------------------------------------------------

constexpr char kOwnName[] = "gpushim";
constinit Functions1 functions1 = {kOwnName, begin1<1>, start<1, Event1>, stop, come_into<1>, end};
constinit Functions2 functions2 = {kOwnName, begin1<2>, start<2, Event2>, stop, come_into<2>, end};
constinit Functions3 functions3 = {kOwnName, begin1<3>, start<3, Event3>, stop, come_into<3>, end};
constinit Functions4 functions4 = {kOwnName, begin4, start<4, Event4>, stop, come_into<4>, end};
constinit Functions5 functions5 = {kOwnName, begin5<5>, start<5, Event5>, stop, come_into<5>, end};
constinit Functions5 functions6 = {kOwnName, begin5<6>, start<6, Event5>, stop, come_into<6>, end};

}  // namespace

void* nccl_functions(int interface) {
    switch (interface) {
        case 1:
            return &functions1;
        case 2:
            return &functions2;
        case 3:
            return &functions3;
        case 4:
            return &functions4;
        case 5:
            return &functions5;
        case kNewestInterface:
            return &functions6;
        default:
            return nullptr;
    }
}

NcclPluginState nccl_view_state() {
    return {interface_taken.load(std::memory_order_relaxed), nullptr, nccl_events_left_out(),
            lost.load(std::memory_order_relaxed)};
}

}  // namespace gpushim::shim
