#include "launch_rows.h"

namespace gpushim::shim {
namespace {

constexpr uint64_t kCooperativeAttribute = 1 << 2;  // CU_LAUNCH_ATTRIBUTE_COOPERATIVE

}  // namespace

int64_t LaunchRows::group_of(const Call& call, int64_t stream_id, const Life* function, int64_t& flags) {
    if (call.group != kNull || group_on_stream_.empty()) return call.group;
    if (function == nullptr || !names_.is_of_nccl(function->name_id)) return kNull;
    const auto found = group_on_stream_.find(stream_id);
    if (found == group_on_stream_.end()) return kNull;
    flags |= kRowInferred;
    return found->second;
}

LaunchRows::CachedShape& LaunchRows::cached_shape(const Call& call) {
    if (cached_shapes_.empty()) cached_shapes_.resize(kFewCachedShapes);
    if (shapes_not_cached_ > kFewCachedShapes && cached_shapes_.size() < kCachedShapes)
        cached_shapes_.assign(kCachedShapes, {});
    const auto [function, stream, grid, block] = call.words<event::launch>();
    const uint64_t hash = (function >> 4 ^ grid * 31 ^ grid >> 32 ^ block) * 0x9e3779b97f4a7c15 >> 54;
    return cached_shapes_[hash >> 54 & (cached_shapes_.size() - 1)];
}

int64_t LaunchRows::shape_of(const Call& call, CachedShape& cached, Life*& function) {
    if (!call.succeeded) return shapes_.id({kNull, call.api, 0, 0, 0, 0});
    const auto [handle, stream, grid, block] = call.words<event::launch>();
    const uint16_t api = call.event.slot.api;
    if (call.odd == nullptr && cached.function == handle && cached.grid == grid && cached.block == block &&
        cached.api == api && cached.life != nullptr && cached.life->id == cached.life_id &&
        cached.life->is_at(call.enter_ns)) {
        function = cached.life;
        return cached.shape_id;
    }
    ++shapes_not_cached_;
    function = &handles_.at(Object::function, handle, call.enter_ns);
    ask_name(*function);
    const uint64_t cooperative = call.has(traits::cooperative) ? kCooperativeAttribute : 0;
    const event::odd_launch odd = call.odd != nullptr ? *call.odd : event::odd_launch{};
    const int64_t id =
        shapes_.id({function->id, call.api, grid, block, odd.cluster, cooperative | odd.attributes});
    if (call.odd == nullptr && function != handles_.other_function())
        cached = {handle, grid, block, api, function, function->id, id, kNull, kNull, 0, 0};
    return id;
}

int64_t LaunchRows::launch_series(const Call& call, CachedShape& cached, const Life* function,
                                  int64_t stream_id) {
    const int64_t name_id = function != nullptr ? function->name_id : kNull;
    const bool is_cached = function != nullptr && cached.life == function && cached.life_id == function->id &&
                           cached.api == call.api;
    if (is_cached && cached.series != 0 && cached.stream_id == stream_id && cached.name_id == name_id &&
        cached.flags == call.flags)
        return cached.series;
    Series series = series_of(call, SeriesKind::launch, stream_id);
    series.object = name_id;
    if (function != nullptr && name_id == kNull) series.detail[0] = function->id;
    const int64_t id = series_.id(series);
    if (!is_cached) return id;
    cached.stream_id = stream_id;
    cached.name_id = name_id;
    cached.flags = call.flags;
    return cached.series = id;
}

void LaunchRows::launch(const Call& call) {
    Life* function = nullptr;
    CachedShape& cached = cached_shape(call);
    const int64_t shape_id = shape_of(call, cached, function);
    const int64_t stream_id = call.succeeded ? stream_of(call, call.words<event::launch>().stream) : kNull;
    int64_t flags = call.flags;
    const int64_t group = group_of(call, stream_id, function, flags);
    tables_.launch.add({.enter_ns = call.enter_ns,
                        .dur_ns = call.dur_ns,
                        .thread_id = call.thread,
                        .stream_id = stream_id,
                        .shape_id = shape_id,
                        .group_id = group,
                        .flags = flags},
                       launch_series(call, cached, function, stream_id));
    timed_.operation(call.event, tables_.launch);
}

void LaunchRows::graph_launch(const Call& call) {
    const auto words = call.words<event::graph_launch>();
    const int64_t graph_id =
        call.succeeded ? graphs_.row(handles_.at(Object::exec, words.exec, call.enter_ns)) : kNull;
    const int64_t stream_id = call.succeeded ? stream_of(call, words.stream) : kNull;
    Series series = series_of(call, SeriesKind::graph_launch, stream_id);
    series.object = graph_id;
    tables_.graph_launch.add({.enter_ns = call.enter_ns,
                              .dur_ns = call.dur_ns,
                              .thread_id = call.thread,
                              .stream_id = stream_id,
                              .api_id = call.api,
                              .graph_id = graph_id,
                              .flags = call.flags},
                             series_.id(series));
    timed_.operation(call.event, tables_.graph_launch);
}

}  // namespace gpushim::shim
