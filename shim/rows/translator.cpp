#include "translator.h"

#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include <cstdio>
#include <iterator>

#include "../base/system.h"
#include "../calls/api.h"

namespace gpushim::shim {
namespace {

constexpr size_t kMostUnnamed = 256;
constexpr uint64_t kCooperativeAttribute = 1 << 2;  // CU_LAUNCH_ATTRIBUTE_COOPERATIVE

// What the program has named its thread; only while it lives.
std::string thread_name(int64_t tid) {
    char path[64], text[32];
    std::snprintf(path, sizeof path, "/proc/self/task/%lld/comm", static_cast<long long>(tid));
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return {};
    const ssize_t size = read(file, text, sizeof text);
    close(file);
    return size > 0 ? std::string(text, static_cast<size_t>(size) - 1) : std::string();
}

}  // namespace

Translator::Translator(Tables& tables, TimedOperations& timed, bool recovering, const TableLimits& limits)
    : tables_(tables),
      timed_(timed),
      recovered_(recovering ? kRowRecovered : 0),
      names_(tables, {limits.texts, limits.text_bytes}),
      apis_(tables),
      shapes_(tables, limits.shapes),
      series_(tables, limits.series),
      handles_(tables, limits.functions),
      streams_(tables, handles_),
      communicators_(tables, handles_),
      graphs_(tables, limits.graphs, limits.graph_kernels) {}

void Translator::load(Database& base) {
    if (base.is_new()) return streams_.load(base);
    names_.load(base);
    apis_.load(base);
    shapes_.load(base);
    series_.load(base);
    handles_.load(base);
    streams_.load(base);
    communicators_.load(base);
    graphs_.load(base, handles_);
    load_memory(base);
    load_spans(base);
    Statement threads = base.prepare("SELECT id FROM thread");
    while (threads.step()) threads_[threads.number(0)] = clock_ns(CLOCK_MONOTONIC);
    Statement groups = base.prepare(
        "SELECT stream_id, group_id, max(enter_ns) FROM collective WHERE stream_id IS NOT NULL GROUP BY 1");
    while (groups.step()) group_on_stream_[groups.number(0)] = groups.number(1);
}

void Translator::take(const Event& event, const event::odd_launch* odd) {
    const Slot& slot = event.slot;
    see_thread(event.thread_id, event.enter_ns);
    const bool finished = event.exit_ns != kUnfinished;
    const bool succeeded = finished && (slot.flags & kFailed) == 0;
    const int64_t flags = ((slot.flags & kCaptured) != 0 ? kRowCaptured : 0) |
                          (finished && !succeeded ? kRowFailed : 0) | (finished ? 0 : kRowUnfinished) |
                          recovered_;
    const Call call = {event,
                       odd,
                       slot.api < kApis ? api_traits[slot.api].traits : 0,
                       apis_.id(slot.api),
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
            return launch(call);
        case EventKind::graph_launch:
            return graph_launch(call);
        case EventKind::copy:
            return copy(call);
        case EventKind::memset:
            return memset(call);
        case EventKind::host_call:
        case EventKind::value:
            return stream_first(call);
        case EventKind::sync:
            return sync(call);
        case EventKind::query:
            return query(call);
        case EventKind::record:
        case EventKind::wait:
            return event_on_stream(call);
        case EventKind::born:
            return born(call);
        case EventKind::died:
            return died(call);
        case EventKind::named:
            return named(call);
        case EventKind::memory:
            return memory(call);
        case EventKind::context:
            return context(call);
        case EventKind::capture:
            return capture(call);
        case EventKind::graph:
            return graph(call);
        case EventKind::collective:
            return collective(call);
        case EventKind::communicator:
            return communicator(call);
        case EventKind::group:
        case EventKind::other:
            return other(call);
        case EventKind::marker:
            return marker(call);
        case EventKind::thread:
            return thread(call);
        case EventKind::timed:
            return timed(call);
        case EventKind::gap:
            return gap(call);
        case EventKind::span:
            return span(call);
        case EventKind::graph_content:
            return graph_content(call);
        case EventKind::graph_nodes:
            return graph_nodes(call);
        case EventKind::text:        // of the event before it
        case EventKind::odd_launch:  // of the launch before it
            return;
    }
}

// Of those that have rows.
void Translator::see_thread(int64_t number, int64_t enter_ns) {
    if (last_thread_ == nullptr || number != last_number_) {
        const auto known = threads_.find(number);
        if (known == threads_.end()) return;
        last_number_ = number;
        last_thread_ = &known->second;
    }
    if (enter_ns > *last_thread_) *last_thread_ = enter_ns;
}

void Translator::end_of_batch(int64_t watermark_ns) {
    if (Life* other = handles_.other_function()) handles_.name(*other, names_.other());
    handles_.add_rows();
    communicators_.add_counts();
    add_memory_peaks();
    handles_.forget_before(watermark_ns - kRemember_ns);
    ranges_.forget_before(watermark_ns - kRemember_ns);
}

std::array<Translator::LeftOut, 6> Translator::left_out() const {
    return {{{"names_left_out", names_.left_out()},
             {"functions_left_out", handles_.left_out()},
             {"shapes_left_out", shapes_.left_out()},
             {"series_left_out", series_.left_out()},
             {"graphs_left_out", graphs_.left_out()},
             {"graphs_assumed", graphs_.assumed()}}};
}

Series Translator::series_of(const Call& call, SeriesKind kind, int64_t stream_id) const {
    return {kind, call.flags, call.api, stream_id};
}

// --- launches

int64_t Translator::group_of(const Call& call, int64_t stream_id, const Life* function, int64_t& flags) {
    if (call.group != kNull || group_on_stream_.empty()) return call.group;
    if (function == nullptr || !names_.is_of_nccl(function->name_id)) return kNull;
    const auto found = group_on_stream_.find(stream_id);
    if (found == group_on_stream_.end()) return kNull;
    flags |= kRowInferred;
    return found->second;
}

void Translator::ask_name(Life& function) {
    if (function.name_id != kNull || function.asked || unnamed_.size() >= kMostUnnamed) return;
    function.asked = true;
    unnamed_.push_back(function.handle);
}

Translator::CachedShape& Translator::cached_shape(const Call& call) {
    if (cached_shapes_.empty()) cached_shapes_.resize(kFewCachedShapes);
    if (shapes_not_cached_ > kFewCachedShapes && cached_shapes_.size() < kCachedShapes)
        cached_shapes_.assign(kCachedShapes, {});
    const auto [function, stream, grid, block] = call.words<event::launch>();
    const uint64_t hash = (function >> 4 ^ grid * 31 ^ grid >> 32 ^ block) * 0x9e3779b97f4a7c15 >> 54;
    return cached_shapes_[hash >> 54 & (cached_shapes_.size() - 1)];
}

int64_t Translator::shape_of(const Call& call, CachedShape& cached, Life*& function) {
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

int64_t Translator::launch_series(const Call& call, CachedShape& cached, const Life* function,
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

void Translator::launch(const Call& call) {
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

void Translator::graph_launch(const Call& call) {
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

// --- waiting

void Translator::add_sync(const Call& call, int64_t dur_ns, int64_t calls) {
    const uint64_t handle = call.handle();
    const bool on_stream = call.finished && call.object() == Object::stream;
    const Life* life = target(call, handle);
    if (call.finished && call.object() == Object::context && handle == 0)
        life = streams_.context_life(call.event.slot.context);
    const int64_t stream_id = on_stream ? stream_of(call, handle) : kNull;
    Series series = series_of(call, SeriesKind::sync, stream_id);
    if (life != nullptr) series.object = static_cast<int64_t>(life->object);
    tables_.sync.add({.enter_ns = call.enter_ns,
                      .dur_ns = dur_ns,
                      .thread_id = call.thread,
                      .api_id = call.api,
                      .target_id = life != nullptr ? life->id : kNull,
                      .stream_id = stream_id,
                      .calls = calls,
                      .group_id = call.group,
                      .flags = call.flags},
                     series_.id(series));
}

void Translator::sync(const Call& call) { add_sync(call, call.dur_ns, 1); }

// Ticks become time as those of the whole row do: polls share a clock with their slot.
void Translator::query(const Call& call) {
    const Slot& slot = call.event.slot;
    if (!call.finished) return add_sync(call, kNull, 1);
    const auto words = words_of<event::query>(slot);
    const auto ticks = static_cast<double>(slot.exit - slot.enter);
    const double share = ticks > 0 ? static_cast<double>(words.ticks) / ticks : 1;
    const auto dur_ns =
        static_cast<int64_t>(static_cast<double>(call.dur_ns) * (share < 1 ? share : 1) + 0.5);
    add_sync(call, dur_ns, words.times == 0 ? 1 : static_cast<int64_t>(words.times));
}

// --- the small ones

Streams::Use Translator::use(const Call& call, uint64_t handle) const {
    const Slot& slot = call.event.slot;
    return {handle, slot.context, call.event.thread_id, (slot.flags & kPerThreadStream) != 0, call.enter_ns};
}

int64_t Translator::stream_of(const Call& call, uint64_t handle) { return streams_.of(use(call, handle)); }

// Of a failed call a handle that is not known is no object.
Life* Translator::target(const Call& call, uint64_t handle) {
    const Object object = call.object();
    if (!call.finished || handle == 0 || object == Object::none || object >= Object::count) return nullptr;
    if (!call.succeeded) return handles_.find(object, handle, call.enter_ns);
    if (object == Object::stream) return streams_.life_of(use(call, handle));
    return &handles_.at(object, handle, call.enter_ns);
}

int64_t Translator::target_id(const Call& call, uint64_t handle) {
    const Life* life = target(call, handle);
    return life != nullptr ? life->id : kNull;
}

void Translator::add_call(const Call& call, int64_t target_id, int64_t stream_id) {
    tables_.call.add({.enter_ns = call.enter_ns,
                      .dur_ns = call.dur_ns,
                      .thread_id = call.thread,
                      .api_id = call.api,
                      .target_id = target_id,
                      .stream_id = stream_id,
                      .group_id = call.group,
                      .flags = call.flags},
                     series_.id(series_of(call, SeriesKind::call)));
}

void Translator::stream_first(const Call& call) {
    const uint64_t stream = call.handle();
    const Life* life = call.succeeded ? streams_.life_of(use(call, stream)) : nullptr;
    add_call(call, life != nullptr ? life->id : kNull, call.succeeded ? stream_of(call, stream) : kNull);
}

// Where the row is of a context, the second word is one and no stream.
void Translator::event_on_stream(const Call& call) {
    const bool on_stream = call.succeeded && call.object() != Object::context;
    const auto words = call.words<event::record>();
    const int64_t event_id = call.succeeded && words.event != 0
                                 ? handles_.at(Object::event, words.event, call.enter_ns).id
                                 : kNull;
    add_call(call, event_id, on_stream ? stream_of(call, words.stream) : kNull);
}

void Translator::other(const Call& call) {
    if (call.has(traits::profiler_starts | traits::profiler_stops)) return profiler(call);
    const bool on_stream = call.succeeded && call.object() == Object::stream;
    add_call(call, target_id(call, call.handle()), on_stream ? stream_of(call, call.handle()) : kNull);
}

void Translator::profiler(const Call& call) {
    add_marker(call, call.has(traits::profiler_starts) ? "profiler_start" : "profiler_stop", kNull, kNull);
}

void Translator::thread(const Call& call) {
    if (!call.finished) return;
    const auto words = call.words<event::thread>();
    const auto number = static_cast<int64_t>(words.number);
    const auto [known, is_new] = threads_.try_emplace(number, call.enter_ns);
    if (!is_new) return;
    const auto tid = static_cast<int64_t>(words.tid);
    const std::string name = recovered_ != 0 ? std::string() : thread_name(tid);
    tables_.thread.add({.id = number,
                        .tid = tid,
                        .name = name.empty() ? kNull : tables_.thread.text(name),
                        .first_ns = call.enter_ns});
}

}  // namespace gpushim::shim
