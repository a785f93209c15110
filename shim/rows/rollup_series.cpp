#include "rollup_series.h"

#include <iterator>
#include <string>
#include <string_view>

#include "handles.h"

namespace gpushim::shim {
namespace {

constexpr std::string_view kOfDevice = "_device";

struct KindTraits {
    std::string_view table;
    bool is_operation;
};
constexpr KindTraits kKinds[] = {
#define EVENT(name, what, ...) {#name, std::string_view(#what) == "operation"},
#include "../schema/tables.def"
};

std::string name_of(const Series& series) {
    std::string name(kKinds[static_cast<size_t>(series.kind)].table);
    if (series.of_device) name += kOfDevice;
    return name;
}

SeriesKind kind_of(std::string_view name) {
    if (name.ends_with(kOfDevice)) name.remove_suffix(kOfDevice.size());
    for (size_t i = 0; i < std::size(kKinds); ++i)
        if (name == kKinds[i].table) return static_cast<SeriesKind>(i);
    return SeriesKind::count;
}

}  // namespace

size_t SeriesList::Hash::operator()(const Series& series) const {
    uint64_t hash = static_cast<uint64_t>(series.of_device) << 16 | static_cast<uint64_t>(series.kind) << 8 |
                    static_cast<uint64_t>(series.flags);
    for (const int64_t word :
         {series.object, series.stream, series.api, series.detail[0], series.detail[1], series.detail[2]}) {
        hash = (hash ^ static_cast<uint64_t>(word)) * 0x9e3779b97f4a7c15;
        hash ^= hash >> 29;
    }
    return hash;
}

int64_t SeriesList::id(const Series& series) {
    if (cached_.empty()) cached_.resize(kFewCached);
    if (not_cached_ > kFewCached && cached_.size() < kCached) cached_.assign(kCached, {});
    Cached& cached = cached_[Hash()(series) & (cached_.size() - 1)];
    if (cached.id != 0 && cached.series == series) return cached.id;
    ++not_cached_;
    cached = {series, known(series)};
    return cached.id;
}

int64_t SeriesList::known(const Series& series) {
    if (const auto found = ids_.find(series); found != ids_.end()) return found->second;
    if (ids_.size() < most_) return make(series);
    ++left_out_;
    Series coarse = series;
    coarse.stream = kNull;
    if (const auto found = ids_.find(coarse); found != ids_.end()) return found->second;
    if (ids_.size() < most_ + most_ / 2) return make(coarse);
    coarse.object = kNull;
    coarse.detail = {kNull, kNull, kNull};
    const auto found = ids_.find(coarse);
    return found != ids_.end() ? found->second : make(coarse);
}

void SeriesList::remember(const Series& series, int64_t id) {
    const auto place = ids_.try_emplace(series, id).first;
    by_id_.resize(static_cast<size_t>(id) + 1);
    device_times_.resize(by_id_.size());
    by_id_.back() = &place->first;
}

int64_t SeriesList::make(const Series& series) {
    const auto id = static_cast<int64_t>(by_id_.size());
    remember(series, id);
    const auto only = [&](SeriesKind kind, int64_t value) { return series.kind == kind ? value : kNull; };
    const bool waits = series.kind == SeriesKind::sync && series.object != kNull;
    auto& rows = tables_.series;
    rows.add({.id = id,
              .kind = rows.text(name_of(series)),
              .flags = series.flags,
              .api_id = series.api,
              .stream_id = series.stream,
              .name_id = only(SeriesKind::launch, series.object),
              .handle_id = only(SeriesKind::launch, series.detail[0]),
              .graph_id = only(SeriesKind::graph_launch, series.object),
              .communicator_id = only(SeriesKind::collective, series.object),
              .target_kind = waits ? rows.text(object_name(static_cast<Object>(series.object))) : kNull,
              .direction = only(SeriesKind::copy, series.detail[0]),
              .sides = only(SeriesKind::copy, series.detail[1]),
              .dtype = only(SeriesKind::collective, series.detail[0]),
              .op = only(SeriesKind::collective, series.detail[1]),
              .bytes = only(SeriesKind::collective, series.detail[2])});
    return id;
}

int64_t SeriesList::device_times_of(int64_t id) {
    const auto index = static_cast<size_t>(id);
    if (index == 0 || index >= by_id_.size()) return 0;
    if (device_times_[index] != 0) return device_times_[index];
    Series series = *by_id_[index];
    if (series.of_device || !kKinds[static_cast<size_t>(series.kind)].is_operation) return 0;
    series.of_device = true;
    const int64_t made = known(series);
    return device_times_[index] = made;
}

void SeriesList::load(Database& base) {
    Statement rows = base.prepare(
        "SELECT id, kind, flags, api_id, stream_id, coalesce(name_id, graph_id, communicator_id), "
        "target_kind,"
        " coalesce(handle_id, direction, dtype), coalesce(sides, op), bytes FROM series ORDER BY id");
    while (rows.step()) {
        const std::string kind = rows.text(1);
        Series series = {.kind = kind_of(kind),
                         .flags = rows.number(2),
                         .api = rows.number(3),
                         .stream = rows.number(4),
                         .object = rows.number(5),
                         .detail = {rows.number(7), rows.number(8), rows.number(9)},
                         .of_device = kind.ends_with(kOfDevice)};
        if (const std::string target = rows.text(6); !target.empty())
            series.object = static_cast<int64_t>(object_of(target));
        remember(series, rows.number(0));
    }
}

}  // namespace gpushim::shim
