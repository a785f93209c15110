// What a trace tells once, and what is only known when all of its rows are there.
#include <cstdio>
#include <set>

#include "api_kinds.h"
#include "collective_words.h"
#include "trace_tables.h"

namespace gpushim::analysis {

namespace {

constexpr std::string_view kNotRecorded = "(not recorded)";

std::string_view text_or_none(const std::string& text) {
    return text.empty() ? std::string_view() : std::string_view(text);
}

std::string capability_of(const ImportedDevice& device) {
    if (!device.compute_major) return {};
    return std::to_string(*device.compute_major) + "." + std::to_string(device.compute_minor.value_or(0));
}

}  // namespace

void TraceTables::write_texts() {
    for (int32_t i = 0; i < names_.names.count(); ++i)
        rows_.add(row::name{.id = i + 1, .text = std::string_view(names_.names.at(i))});
    for (int32_t i = 0; i < names_.apis.count(); ++i) {
        const std::string_view name = names_.apis.at(i);
        const bool is_collective = name.starts_with("nccl") || name == "SendRecv";
        rows_.add(row::api{.id = i + 1,
                           .name = name,
                           .base = base_of_api(name),
                           .kind = is_collective ? std::string_view("collective") : kind_of_api(name).kind});
    }
    rows_.add(row::api{
        .id = names_.apis.count() + 1, .name = kNotRecorded, .base = kNotRecorded, .kind = "launch"});
    for (int32_t i = 0; i < names_.threads.count(); ++i) {
        const int64_t tid = names_.threads.at(i);
        const auto name = names_.thread_names.find(tid);
        rows_.add(row::thread{.id = i + 1,
                              .tid = tid,
                              .name = name == names_.thread_names.end() ? std::string_view() : name->second,
                              .first_ns = names_.thread_first_ns[static_cast<size_t>(i)] + trace_.base_ns});
    }
}

void TraceTables::write_contexts() {
    for (int32_t i = 0; i < names_.streams.count(); ++i) {
        const ImportedStream& is = names_.streams.at(i);
        const std::pair key(is.device.value_or(-1), is.context.value_or(-1));
        const auto [context, is_new] = contexts_.try_emplace(key, static_cast<int64_t>(contexts_.size()) + 1);
        if (is_new) {
            rows_.add(row::handle{
                .id = ++handles_, .kind = "context", .handle = is.context.value_or(0), .extra = is.device});
            rows_.add(row::context{.id = context->second, .handle_id = handles_, .device_id = is.device});
        }
        rows_.add(row::handle{.id = ++handles_, .kind = "stream", .handle = is.stream.value_or(0)});
        rows_.add(
            row::stream{.id = i + 1, .handle_id = handles_, .context_id = context->second, .kind = "made"});
    }
}

int64_t TraceTables::rank_in(const ImportedCommunicator& communicator) const {
    if (!trace_.rank) return kNotThere;
    const auto members = ranks_in(communicator.members);
    for (size_t i = 0; i < members.size(); ++i)
        if (members[i] == *trace_.rank) return static_cast<int64_t>(i);
    const bool is_all = communicator.ranks > 0 && communicator.ranks == trace_.world_size.value_or(-1);
    return is_all ? *trace_.rank : kNotThere;
}

void TraceTables::write_communicators() {
    for (int32_t i = 0; i < names_.communicators.count(); ++i) {
        const ImportedCommunicator& is = names_.communicators.at(i);
        rows_.add(row::communicator{
            .id = i + 1, .uid = std::string_view(is.uid), .rank = rank_in(is), .ranks = known(is.ranks)});
    }
}

// From when on it is known whether a device works. What it runs first was called for long before, or before
// the recording began: it was busy with what the trace does not show. That would hardly end just then if
// calls were recorded for a hundred times as long before: then the device was set up, or loaded code.
int64_t TraceTables::known_from(const OnDevice& device) const {
    constexpr int64_t kLongestLatencyNs = 1'000'000, kManyTimes = 100;
    if (device.first_called_ns == kNotThere) return device.first_start_ns;
    const int64_t waited_ns = device.first_start_ns - device.first_called_ns;
    const bool was_busy =
        waited_ns > kLongestLatencyNs && waited_ns > (device.first_called_ns - first_ns_) / kManyTimes;
    return was_busy ? device.first_start_ns : first_ns_;
}

// A profiler may number those it describes otherwise than those it saw at work (where a program was shown
// only some of a host's): where all are alike, it is one of them, whichever.
ImportedDevice TraceTables::told_of(int64_t device) const {
    const ImportedDevice unknown = {device, "", "", {}, {}, {}, {}};
    for (const ImportedDevice& one : trace_.devices)
        if (one.id == device) return one;
    for (const ImportedDevice& one : trace_.devices)
        if (one.name.empty() || one.name != trace_.devices.front().name) return unknown;
    if (trace_.devices.empty()) return unknown;
    ImportedDevice like = trace_.devices.front();
    like.id = device;
    like.uuid.clear();
    return like;
}

// Everything a profiler saw has its times, so all of the trace is one window.
void TraceTables::write_devices() {
    for (const auto& [device, on_it] : operations_) {
        const int64_t operations = on_it.operations, from_ns = known_from(on_it);
        const ImportedDevice is = told_of(device);
        const std::string capability = capability_of(is);
        rows_.add(row::device{.id = device,
                              .uuid = text_or_none(is.uuid),
                              .name = text_or_none(is.name),
                              .memory_bytes = is.memory_bytes,
                              .multiprocessors = is.multiprocessors,
                              .compute_capability = text_or_none(capability)});
        const int64_t dur_ns = last_ns_ - from_ns;
        if (trace_.windows.empty())
            rows_.add(row::window{.enter_ns = from_ns,
                                  .device_id = device,
                                  .dur_ns = dur_ns,
                                  .planned_ns = dur_ns,
                                  .operations = operations,
                                  .timed = operations,
                                  .legacy_events = 0,
                                  .own_host_ns = 0});
    }
}

// Two that are told as one and the same are one.
void TraceTables::write_windows() {
    std::set<std::pair<int64_t, int64_t>> told;
    for (const ImportedWindow& window : trace_.windows) {
        const int64_t enter_ns = window.start_ns + trace_.base_ns;
        if (operations_.contains(window.device) && told.insert({enter_ns, window.device}).second)
            rows_.add(row::window{.enter_ns = enter_ns,
                                  .device_id = window.device,
                                  .dur_ns = window.duration_ns,
                                  .planned_ns = window.duration_ns,
                                  .operations = window.operations,
                                  .timed = window.timed,
                                  .legacy_events = 0,
                                  .own_host_ns = 0});
    }
}

void TraceTables::write_trace() {
    // A time that was cut off is that much later; one that was rounded, half of that either way.
    const int64_t low = trace_.fraction_ns / 2, high = std::max<int64_t>(trace_.fraction_ns - 1, 0);
    rows_.add(row::level_error{.id = 1,
                               .level = std::string_view(trace_.source),
                               .queued = 1,
                               .start_low_ns = low,
                               .start_high_ns = high,
                               .end_low_ns = low,
                               .end_high_ns = high,
                               .likely_ns = low,
                               .events = 0});
    rows_.add(row::process{.pid = trace_.pid.value_or(0),
                           .executable = text_or_none(trace_.executable),
                           .rank = trace_.rank,
                           .world_size = trace_.world_size,
                           .run_key = "imported"});
    if (counts_.rows == 0) first_ns_ = last_ns_ = trace_.base_ns;
    rows_.add(row::clock{.mono_ns = first_ns_, .ticks = first_ns_, .real_ns = first_ns_});
    if (last_ns_ > first_ns_)
        rows_.add(row::clock{.mono_ns = last_ns_, .ticks = last_ns_, .real_ns = last_ns_});
    rows_.add(row::ring_commit{
        .ring_id = 0, .seq = counts_.rows, .annex = 0, .polls = 0, .watermark_ns = last_ns_});
    if (trace_.damaged > 0)
        rows_.add(row::drop{.ring_id = 0,
                            .reason = "damaged",
                            .seen_ns = last_ns_,
                            .events = static_cast<int64_t>(trace_.damaged)});
}

void TraceTables::write_meta() {
    const auto number = [this](const char* key, int64_t value) {
        rows_.add(row::meta{.key = key, .value = value});
    };
    const auto text = [this](const char* key, std::string_view value) {
        if (!value.empty()) rows_.add(row::meta{.key = key, .value = value});
    };
    const std::string uuid = identity();
    text("uuid", uuid);
    text("host", trace_.host);
    text("source", trace_.source);
    text("imported_from", trace_.file);
    if (!trace_.windows.empty()) text("exported_by", "gpushim");  // who else tells its windows
    text("frameworks", trace_.frameworks);
    text("end_note", trace_.note);
    number("started_mono_ns", first_ns_);
    if (trace_.has_epoch) number("started_real_ns", first_ns_);
    number("moved_starts", moved_);
    number("names_left_out", names_.names.left_out() + names_.apis.left_out());
    number("shapes_left_out", names_.shapes.left_out());
    number("operations_without_call", counts_.without_call);
    number("calls_without_operation", counts_.calls_without_operation);
}

// The same for the same contents: a file that is given twice counts once.
std::string TraceTables::identity() const {
    uint64_t hash = hash_;
    const auto mix = [&hash](uint64_t value) { hash = (hash ^ value) * 1099511628211u; };
    mix(static_cast<uint64_t>(trace_.pid.value_or(-1)));
    mix(static_cast<uint64_t>(trace_.rank.value_or(-1)));
    for (const char c : trace_.host) mix(static_cast<unsigned char>(c));
    for (int32_t i = 0; i < names_.names.count(); ++i)
        for (const char c : names_.names.at(i)) mix(static_cast<unsigned char>(c));
    char text[40];
    std::snprintf(text, sizeof text, "%s-%016llx", trace_.source.c_str(),
                  static_cast<unsigned long long>(hash));
    return text;
}

}  // namespace gpushim::analysis
