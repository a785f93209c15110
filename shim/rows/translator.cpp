#include "translator.h"

namespace gpushim::shim {

Translator::Translator(Tables& tables, TimedOperations& timed, bool recovering, const TableLimits& limits)
    : known_(tables, timed, recovering, limits),
      graphs_(tables, limits.graphs, limits.graph_kernels),
      launches_(known_, graphs_),
      memory_(known_),
      objects_(known_, graphs_),
      graph_rows_(known_, graphs_),
      collectives_(known_),
      gemms_(known_),
      nccl_(known_),
      spans_(known_),
      waits_(known_, spans_),
      threads_(known_) {}

void Translator::load(Database& base) {
    if (base.is_new()) return known_.streams.load(base);
    known_.load(base);
    collectives_.load(base);
    nccl_.load(base);
    graphs_.load(base, known_.handles);
    memory_.load(base);
    spans_.load(base);
    threads_.load(base);
}

void Translator::take(const Event& event, const event::odd_launch* odd) {
    const Slot& slot = event.slot;
    threads_.see(event.thread_id, event.enter_ns);
    const bool finished = event.exit_ns != kUnfinished;
    const bool succeeded = finished && (slot.flags & kFailed) == 0;
    const int64_t flags = ((slot.flags & kCaptured) != 0 ? kRowCaptured : 0) |
                          (finished && !succeeded ? kRowFailed : 0) | (finished ? 0 : kRowUnfinished) |
                          known_.recovered;
    const Call call = {event,
                       odd,
                       slot.api < kApis ? api_traits[slot.api].traits : 0,
                       known_.apis.id(slot.api),
                       event.enter_ns,
                       finished ? event.exit_ns - event.enter_ns : kNull,
                       event.thread_id,
                       slot.group == 0 ? kNull : int64_t{slot.group},
                       flags,
                       finished,
                       succeeded};
    row_of(call);
}

// A kind without a case does not compile. What a newer library has written, which a recovery may read, has
// none.
void Translator::row_of(const Call& call) {
    switch (static_cast<EventKind>(call.event.slot.kind)) {
        case EventKind::launch:
            return launches_.launch(call);
        case EventKind::graph_launch:
            return launches_.graph_launch(call);
        case EventKind::copy:
            return memory_.copy(call);
        case EventKind::memset:
            return memory_.memset(call);
        case EventKind::host_call:
        case EventKind::value:
            return waits_.stream_first(call);
        case EventKind::sync:
            return waits_.sync(call);
        case EventKind::query:
            return waits_.query(call);
        case EventKind::record:
        case EventKind::wait:
            return waits_.event_on_stream(call);
        case EventKind::born:
            return objects_.born(call);
        case EventKind::died:
            return objects_.died(call);
        case EventKind::named:
            return objects_.named(call);
        case EventKind::memory:
            return memory_.memory(call);
        case EventKind::context:
            return objects_.context(call);
        case EventKind::capture:
            return objects_.capture(call);
        case EventKind::graph:
            return graph_rows_.graph(call);
        case EventKind::collective:
            return collectives_.collective(call);
        case EventKind::communicator:
            return collectives_.communicator(call);
        case EventKind::group:
        case EventKind::other:
            return waits_.other(call);
        case EventKind::gemm:
            return gemms_.gemm(call);
        case EventKind::marker:
            return spans_.marker(call);
        case EventKind::thread:
            return threads_.thread(call);
        case EventKind::timed:
            if (known_.recovered == 0) known_.timed.timed(call.event);
            return;
        case EventKind::gap:
            return threads_.gap(call);
        case EventKind::span:
            return spans_.span(call);
        case EventKind::graph_content:
            return graph_rows_.content(call);
        case EventKind::graph_nodes:
            return graph_rows_.nodes(call);
        case EventKind::nccl_joined:
            return nccl_.joined(call);
        case EventKind::nccl_operation:
            return nccl_.operation(call);
        case EventKind::nccl_channel:
            return nccl_.channel(call);
        case EventKind::nccl_network:
            return nccl_.network(call);
        case EventKind::text:        // of the event before it
        case EventKind::odd_launch:  // of the launch before it
            return;
    }
}

void Translator::end_of_batch(int64_t watermark_ns) {
    if (Life* other = known_.handles.other_function()) known_.handles.name(*other, known_.names.other());
    known_.handles.add_rows();
    collectives_.end_of_batch();
    memory_.end_of_batch(watermark_ns - kRemember_ns);
    known_.handles.forget_before(watermark_ns - kRemember_ns);
}

std::vector<int64_t> Translator::thread_is_gone(int64_t number) {
    threads_.is_gone(number);
    return known_.streams.forget_thread(number);
}

std::array<Translator::LeftOut, 6> Translator::left_out() const {
    return {{{"names_left_out", known_.names.left_out()},
             {"functions_left_out", known_.handles.left_out()},
             {"shapes_left_out", known_.shapes.left_out()},
             {"series_left_out", known_.series.left_out()},
             {"graphs_left_out", graphs_.left_out()},
             {"graphs_assumed", graphs_.assumed()}}};
}

}  // namespace gpushim::shim
