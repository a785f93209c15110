#include "row_maker.h"

namespace gpushim::shim {
namespace {

constexpr size_t kMostUnnamed = 256;

}  // namespace

Known::Known(Tables& of, TimedOperations& operations, bool recovering, const TableLimits& limits)
    : tables(of),
      timed(operations),
      recovered(recovering ? kRowRecovered : 0),
      names(of, {limits.texts, limits.text_bytes}),
      apis(of),
      shapes(of, limits.shapes),
      series(of, limits.series),
      handles(of, limits.functions),
      streams(of, handles) {}

void Known::load(Database& base) {
    names.load(base);
    apis.load(base);
    shapes.load(base);
    series.load(base);
    handles.load(base);
    streams.load(base);
    Statement groups = base.prepare(
        "SELECT stream_id, group_id, max(enter_ns) FROM collective WHERE stream_id IS NOT NULL GROUP BY 1");
    while (groups.step()) group_on_stream[groups.number(0)] = groups.number(1);
}

Series RowMaker::series_of(const Call& call, SeriesKind kind, int64_t stream_id) const {
    return {kind, call.flags, call.api, stream_id};
}

Streams::Use RowMaker::use(const Call& call, uint64_t handle) const {
    const Slot& slot = call.event.slot;
    return {handle, slot.context, call.event.thread_id, (slot.flags & kPerThreadStream) != 0, call.enter_ns};
}

int64_t RowMaker::stream_of(const Call& call, uint64_t handle) { return streams_.of(use(call, handle)); }

// Of a failed call a handle that is not known is no object.
Life* RowMaker::target(const Call& call, uint64_t handle) {
    const Object object = call.object();
    if (!call.finished || handle == 0 || object == Object::none || object >= Object::count) return nullptr;
    if (!call.succeeded) return handles_.find(object, handle, call.enter_ns);
    if (object == Object::stream) return streams_.life_of(use(call, handle));
    return &handles_.at(object, handle, call.enter_ns);
}

int64_t RowMaker::target_id(const Call& call, uint64_t handle) {
    const Life* life = target(call, handle);
    return life != nullptr ? life->id : kNull;
}

void RowMaker::add_call(const Call& call, int64_t target_id, int64_t stream_id, const HeldFromCall& held) {
    tables_.call.add({.enter_ns = call.enter_ns,
                      .dur_ns = call.dur_ns,
                      .thread_id = call.thread,
                      .api_id = call.api,
                      .target_id = target_id,
                      .stream_id = stream_id,
                      .group_id = call.group,
                      .flags = call.flags,
                      .holds_id = held.id,
                      .node = held.node},
                     series_.id(series_of(call, SeriesKind::call)));
}

void RowMaker::ask_name(Life& function) {
    if (function.name_id != kNull || function.asked || unnamed_.size() >= kMostUnnamed) return;
    function.asked = true;
    unnamed_.push_back(function.handle);
}

}  // namespace gpushim::shim
