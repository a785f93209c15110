#include "nccl_rows.h"

#include "../base/rounding.h"

namespace gpushim::shim {
namespace {

int64_t communicator_of(uint64_t word) {
    const uint64_t number = word >> kNcclContextShift;
    return or_null(number != 0, number);
}

// Ticks become time as those of the event itself do.
int64_t wait_ns(const Call& call, uint64_t word, NcclWait wait) {
    const Slot& slot = call.event.slot;
    if (slot.exit <= slot.enter) return 0;
    const double ticks = static_cast<double>(nccl_wait_of(word, wait));
    return rounded(ticks * static_cast<double>(call.dur_ns) / static_cast<double>(slot.exit - slot.enter));
}

}  // namespace

void NcclRows::load(Database& base) {
    Statement rows = base.prepare("SELECT id, interface, coalesce(rank, -1) FROM nccl_communicator");
    while (rows.step())
        known_[rows.number(0)] = {rows.number(1), rows.number(2) < 0 ? kNull : rows.number(2)};
    if (!known_.empty()) asked_.want();
}

const NcclRows::Communicator* NcclRows::find(uint64_t word) const {
    const auto found = known_.find(static_cast<int64_t>(word >> kNcclContextShift));
    return found == known_.end() ? nullptr : &found->second;
}

int64_t NcclRows::rank_of(uint64_t word) const {
    const Communicator* one = find(word);
    return one == nullptr ? kNull : one->rank;
}

void NcclRows::joined(const Call& call) {
    if (!call.finished) return;
    const auto words = call.words<event::nccl_joined>();
    const auto number = static_cast<int64_t>(words.context & 0xffffffff);
    const auto interface = static_cast<int64_t>(words.context >> 32);
    const uint64_t ranks = words.place >> 32;
    const int64_t rank = or_null(ranks != 0, words.place & 0xffffffff);
    if (!known_.try_emplace(number, Communicator{interface, rank}).second) return;
    asked_.want();
    tables_.nccl_communicator.add({.id = number,
                                   .joined_ns = call.enter_ns,
                                   .interface = interface,
                                   .hash = or_null(words.communicator != 0, words.communicator),
                                   .rank = rank,
                                   .ranks = or_null(ranks != 0, ranks),
                                   .nodes = or_null(words.nodes != 0, words.nodes)});
}

void NcclRows::operation(const Call& call) {
    if (!call.finished) return;
    const auto words = call.words<event::nccl_operation>();
    const NcclOperationWord what = nccl_operation_of(words.what);
    const int64_t peer = or_null(what.is_message, words.place);
    const auto count = static_cast<int64_t>(words.count);
    const AskedOfNccl::Found asked =
        asked_.take({call.thread, call.group, what.function, communicator_of(words.what), rank_of(words.what),
                     count, peer});
    tables_.nccl_operation.add({.enter_ns = call.enter_ns,
                                .dur_ns = call.dur_ns,
                                .thread_id = call.thread,
                                .operation = static_cast<int64_t>(words.handle),
                                .nccl_communicator_id = communicator_of(words.what),
                                .communicator_id = asked.communicator_id,
                                .seq = asked.seq,
                                .function = or_null(what.function != 0, what.function - 1),
                                .algorithm = or_null(what.algorithm != 0, what.algorithm - 1),
                                .protocol = or_null(what.protocol != 0, what.protocol - 1),
                                .channels = or_null(what.channels != 0, what.channels),
                                .count = count,
                                .nccl_seq = or_null(!what.is_message, words.place),
                                .peer = peer,
                                .group_id = call.group});
}

void NcclRows::channel(const Call& call) {
    if (!call.finished) return;
    const auto words = call.words<event::nccl_channel>();
    const bool is_timed = words.gpu_start != 0 && words.gpu_end >= words.gpu_start;
    tables_.nccl_channel.add({.enter_ns = call.enter_ns,
                              .dur_ns = call.dur_ns,
                              .thread_id = call.thread,
                              .operation = or_null(words.operation != 0, words.operation),
                              .nccl_communicator_id = communicator_of(words.what),
                              .channel = static_cast<int64_t>(words.what & 0xff),
                              .gpu_ns = or_null(is_timed, words.gpu_end - words.gpu_start)});
}

void NcclRows::network(const Call& call) {
    if (!call.finished) return;
    const auto words = call.words<event::nccl_network>();
    const NcclNetworkWord what = nccl_network_of(words.what);
    const Communicator* one = find(words.what);
    const bool tells_peers = what.sends && one != nullptr && one->interface >= 4;
    const uint64_t steps = words.sizes >> kNcclStepsShift;
    const uint64_t bytes = words.sizes & kNcclMostBytes;
    tables_.nccl_network.add(
        {.enter_ns = call.enter_ns,
         .dur_ns = call.dur_ns,
         .thread_id = call.thread,
         .operation = or_null(words.operation != 0, words.operation),
         .nccl_communicator_id = communicator_of(words.what),
         .channel = static_cast<int64_t>(what.channel),
         .peer = static_cast<int64_t>(what.peer),
         .sends = what.sends,
         .is_foreign = what.is_foreign,
         .steps = or_null(steps < kNcclMostSteps, steps),
         .bytes = or_null(bytes < kNcclMostBytes, bytes),
         .gpu_wait_ns = wait_ns(call, words.waits, kNcclWaitsForGpu),
         // Only of what sends, and told apart from the wait for the GPU from interface 4 on.
         .peer_wait_ns = tells_peers ? wait_ns(call, words.waits, kNcclWaitsForPeer) : kNull,
         .network_wait_ns = wait_ns(call, words.waits, kNcclWaitsForNetwork)});
}

}  // namespace gpushim::shim
