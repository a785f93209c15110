#include "collective_rows.h"

#include <cstring>
#include <string>

#include "../ring/nccl_view.h"

namespace gpushim::shim {
namespace {

// ncclAllReduceConfig: AllReduce, as NCCL calls it.
uint64_t function_of(const Call& call) {
    std::string name = std::string(api_traits[call.event.slot.api].base).substr(std::strlen("nccl"));
    if (name.ends_with("Config")) name.erase(name.size() - std::strlen("Config"));
    return nccl_code(kNcclFunctions, name == "Bcast" ? "Broadcast" : name.c_str());
}

}  // namespace

void CollectiveRows::collective(const Call& call) {
    Series series = series_of(call, SeriesKind::collective);
    row::collective made = {.enter_ns = call.enter_ns,
                            .dur_ns = call.dur_ns,
                            .thread_id = call.thread,
                            .api_id = call.api,
                            .group_id = call.group,
                            .flags = call.flags};
    const auto words = call.words<event::collective>();
    if (!call.succeeded || words.communicator == 0) return tables_.collective.add(made, series_.id(series));
    Life& life = handles_.at(Object::communicator, words.communicator, call.enter_ns);
    const bool between = call.has(traits::sends | traits::receives);
    const auto op = static_cast<int64_t>(words.how >> 8 & 0xffffff);
    const auto peer = static_cast<int64_t>(words.how >> 32);
    made.communicator_id = communicators_.row(life);
    made.seq = between ? communicators_.next_between(life, peer, call.has(traits::sends))
                       : communicators_.next_of_collectives(life);
    made.stream_id = stream_of(call, words.stream);
    made.count = static_cast<int64_t>(words.count);
    made.dtype = static_cast<int64_t>(words.how & 0xff);
    if (const int64_t size = dtype_bytes(made.dtype); size != kNull) made.bytes = made.count * size;
    if (call.has(traits::reduces)) made.op = op;
    if (between || call.has(traits::rooted)) made.peer = peer;
    series.stream = made.stream_id;
    series.object = made.communicator_id;
    series.detail = {made.dtype, made.op, made.bytes};
    tables_.collective.add(made, series_.id(series));
    if (call.group == kNull) return;
    group_on_stream_[made.stream_id] = call.group;
    if (!asked_of_nccl_.is_wanted()) return;
    asked_of_nccl_.add(call.thread, call.group,
                       {function_of(call), made.communicator_id, communicators_.rank_of(life), made.seq,
                        made.count, made.bytes, made.peer});
}

// A failed or empty split counts where it succeeded for others: NCCL makes all ranks of the parent call it.
void CollectiveRows::communicator(const Call& call) {
    const bool splits = call.has(traits::splits);
    const auto words = call.words<event::communicator>();
    Life* parent = splits && call.succeeded && words.parent != 0
                       ? &handles_.at(Object::communicator, words.parent, call.enter_ns)
                       : nullptr;
    if (parent != nullptr) communicators_.split(*parent);
    if (!call.succeeded || words.handle == 0)
        return add_call(call, parent != nullptr ? parent->id : kNull, kNull);
    Life& life = handles_.born(Object::communicator, words.handle, call.event.exit_ns,
                               parent != nullptr ? parent->id : kNull);
    const uint64_t ranks = words.place >> 32;
    const int64_t device = call.has(traits::on_devices) ? static_cast<int64_t>(words.parent)
                                                        : streams_.device(call.event.slot.context);
    communicators_.born(life, {or_null(ranks != 0, words.place & 0xffffffff), or_null(ranks != 0, ranks),
                               words.unique_id, device, parent});
    add_call(call, parent != nullptr ? parent->id : life.id, kNull);
}

}  // namespace gpushim::shim
