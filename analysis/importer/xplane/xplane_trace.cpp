#include "xplane_trace.h"

#include <algorithm>
#include <map>
#include <set>

#include "../../failure.h"
#include "../host_words.h"
#include "../trace_rank.h"
#include "xplane_reader.h"
#include "xplane_words.h"

namespace gpushim::analysis {

namespace {

// Times before are since the profile began, not since 1970.
constexpr int64_t kFirstEpochNs = 1'000'000'000'000'000'000;  // in 2001

// What the device's line `Steps` says: by name, in order of time.
struct ToldStep {
    std::string name;
    int64_t start_ns, end_ns;
};
using ToldSteps = std::map<int64_t, std::vector<ToldStep>>;  // by device

class XplaneImport {
  public:
    explicit XplaneImport(const std::filesystem::path& trace) : writer_(trace) {}

    static bool wants(std::string_view plane) { return gpu_of_plane(plane) || is_plane_of_threads(plane); }

    void take_plane(std::string_view plane, const XplaneStats& stats) {
        if (const auto start = stats.number(XplaneStat::profile_start_time)) profile_start_ns_ = start;
        if (const auto pid = stats.number(XplaneStat::process_id); pid && !pid_) pid_ = pid;
        const auto gpu = gpu_of_plane(plane);
        is_gpu_ = gpu.has_value();
        device_ = gpu.value_or(0);
        if (!gpu || devices_.size() == kMostDevices) return;
        devices_.push_back({*gpu, "", name_of_gpu(stats), stats.number(XplaneStat::memory_size),
                            stats.number(XplaneStat::core_count), stats.number(XplaneStat::compute_cap_major),
                            stats.number(XplaneStat::compute_cap_minor)});
    }

    void take(const XplaneEvent& event) {
        if (!is_gpu_) return take_host(event);
        if (event.line->name == "Steps") return take_told_step(event);
        if (const auto stream = stream_of_line(event.line->name)) take_work(event, *stream);
    }

    bool has_gpu() const { return !devices_.empty(); }

    ImportedCounts finish(ImportedTrace& trace) {
        if (!has_marks_) mark_told_steps();
        trace.frameworks = framework_;
        trace.devices = std::move(devices_);
        trace.pid = pid_;
        trace.joins_threads = true;
        trace.program_thread = program_thread();
        trace.has_epoch = first_ns_ >= kFirstEpochNs;
        if (!trace.has_epoch && profile_start_ns_ && *profile_start_ns_ >= kFirstEpochNs &&
            *profile_start_ns_ < INT64_MAX / 2) {
            trace.base_ns = *profile_start_ns_;
            trace.has_epoch = true;
        }
        return writer_.finish(trace);
    }

  private:
    static constexpr size_t kMostDevices = 1024, kMostSteps = 100'000;

    // Some files tell only who made it.
    static std::string name_of_gpu(const XplaneStats& stats) {
        const std::string name(stats.text(XplaneStat::gpu_device_name));
        const std::string vendor(stats.text(XplaneStat::device_vendor));
        return name.empty() && !vendor.empty() ? vendor + " GPU" : name;
    }

    static XplaneWork work_of(const XplaneEvent& event) {
        XplaneWork work = work_named(event.name);
        const XplaneStats& stats = event.stats;
        if (stats.has(XplaneStat::cuda_graph_exec_id)) work.kind = XplaneKind::graph;
        if (stats.has(XplaneStat::kernel_details)) work.kind = XplaneKind::kernel;
        if (stats.has(XplaneStat::memcpy_details)) work.kind = XplaneKind::copy;
        if (stats.has(XplaneStat::memset_details)) work.kind = XplaneKind::set;
        return work;
    }

    static XplaneDetails details_of(const XplaneStats& stats) {
        for (const XplaneStat stat :
             {XplaneStat::kernel_details, XplaneStat::memcpy_details, XplaneStat::memset_details})
            if (stats.has(stat)) return details_in(stats.text(stat));
        return {};
    }

    // 0 is none.
    static ImportedNumber correlation_in(const XplaneStats& stats) {
        const auto correlation = stats.number(XplaneStat::correlation_id);
        return correlation && *correlation > 0 ? correlation : std::nullopt;
    }

    void see(const XplaneEvent& event) { first_ns_ = std::min(first_ns_, event.start_ns); }

    void take_work(const XplaneEvent& event, int64_t stream) {
        constexpr ImportedWork::What kWhats[] = {ImportedWork::What::kernel, ImportedWork::What::copy,
                                                 ImportedWork::What::set, ImportedWork::What::graph};
        const XplaneWork work = work_of(event);
        if (work.kind == XplaneKind::other) return;
        see(event);
        const XplaneDetails details = details_of(event.stats);
        writer_.work({.what = kWhats[static_cast<size_t>(work.kind)],
                      .name = event.name,
                      .start_ns = event.start_ns,
                      .duration_ns = event.duration_ns,
                      .stream = {device_, event.stats.number(XplaneStat::context_id), stream},
                      .correlation = correlation_in(event.stats),
                      .grid = details.grid,
                      .block = details.block,
                      .shared_bytes = details.shared_bytes,
                      .bytes = details.bytes,
                      .direction = work.direction,
                      .source = details.source,
                      .target = details.target});
    }

    void take_host(const XplaneEvent& event) {
        if (is_derived_line(event.line->id)) return;
        see(event);
        if (const auto thread = thread_of_ranges(event.line->name)) return take_range(event, *thread);
        const int64_t thread = event.line->id;
        if (event.stats.has(XplaneStat::correlation_id)) return take_call(event, thread);
        if (const auto step = event.stats.number(XplaneStat::step_num)) take_step(event, thread, *step);
        if (event.duration_ns == 0) return;
        name_thread(*event.line);
        if (framework_.empty()) framework_ = framework_of(event.name);
        const bool is_frame = event.name.starts_with('$');
        if (spans_.size() < kMostSteps || spans_.contains(thread)) ++spans_[thread].of[is_frame];
        writer_.inside(event.name, is_frame ? HostInside::python : HostInside::framework, event.start_ns,
                       event.duration_ns, thread);
    }

    // Pools of threads work for the one in which the program runs: that with frames which asks the framework
    // for most.
    ImportedNumber program_thread() const {
        ImportedNumber found;
        for (const auto& [thread, count] : spans_)
            if (count.of[true] > 0 && (!found || count.of[false] > spans_.at(*found).of[false]))
                found = thread;
        return found;
    }

    // The file has what the call asked for in place of the name of some calls.
    void take_call(const XplaneEvent& event, int64_t thread) {
        const bool may_wait = details_of(event.stats).is_async.value_or(1) == 0;
        name_thread(*event.line);
        writer_.call({.api = call_named(event.name, may_wait),
                      .start_ns = event.start_ns,
                      .duration_ns = event.duration_ns,
                      .thread = thread,
                      .correlation = correlation_in(event.stats)});
    }

    void take_range(const XplaneEvent& event, int64_t thread) {
        constexpr std::string_view kPrefix = "NVTX:";
        const bool has_prefix = event.name.starts_with(kPrefix);
        writer_.range(event.name.substr(has_prefix ? kPrefix.size() : 0), event.start_ns, event.duration_ns,
                      thread, event.duration_ns == 0 ? ImportedRange::mark : ImportedRange::nested);
    }

    // The outermost counts: what a step asks for may carry its number, too.
    void take_step(const XplaneEvent& event, int64_t thread, int64_t number) {
        if (event.duration_ns == 0) return;
        int64_t& until_ns = step_until_ns_[thread];
        if (event.start_ns < until_ns || step_until_ns_.size() > kMostSteps) return;
        until_ns = event.start_ns + event.duration_ns;
        has_marks_ = true;
        mark(event.start_ns, event.duration_ns, thread, std::to_string(number));
    }

    // As a profiler's steps are called in our traces. No thread: it was the device that told.
    void mark(int64_t start_ns, int64_t duration_ns, ImportedNumber thread, const std::string& name) {
        writer_.range("ProfilerStep#" + name, start_ns, duration_ns, thread,
                      thread ? ImportedRange::nested : ImportedRange::free);
    }

    void take_told_step(const XplaneEvent& event) {
        if (told_count_ == kMostSteps || event.duration_ns == 0) return;
        ++told_count_;
        told_steps_[device_].push_back(
            {std::string(event.name), event.start_ns, event.start_ns + event.duration_ns});
    }

    // Of the device that has the most of them, or the longest: the others' steps are the same ones.
    void mark_told_steps() {
        const auto length_ns = [](const std::vector<ToldStep>& steps) {
            int64_t sum_ns = 0;
            for (const ToldStep& step : steps) sum_ns += step.end_ns - step.start_ns;
            return std::pair(steps.size(), sum_ns);
        };
        const std::vector<ToldStep>* most = nullptr;
        for (const auto& [device, steps] : told_steps_)
            if (most == nullptr || length_ns(steps) > length_ns(*most)) most = &steps;
        if (most == nullptr) return;
        for (const ToldStep& step : *most) mark(step.start_ns, step.end_ns - step.start_ns, {}, step.name);
    }

    void name_thread(const XplaneLine& line) {
        if (line.name.empty() || named_.size() == kMostSteps) return;
        // CUPTI's lines are called by number only.
        if (line.name.starts_with("Host Threads/") || !named_.insert(line.id).second) return;
        writer_.name_thread(line.id, line.name);
    }

    TraceWriter writer_;
    std::vector<ImportedDevice> devices_;
    std::map<int64_t, int64_t> step_until_ns_;  // by thread
    std::set<int64_t> named_;
    struct Count {
        int64_t of[2] = {};  // of the framework; frames
    };
    std::map<int64_t, Count> spans_;  // by thread
    std::string_view framework_;      // empty: nothing has told yet
    ToldSteps told_steps_;
    size_t told_count_ = 0;
    ImportedNumber profile_start_ns_, pid_;
    int64_t first_ns_ = INT64_MAX, device_ = 0;
    bool is_gpu_ = false, has_marks_ = false;
};

std::string listed(const std::vector<std::string>& planes) {
    constexpr size_t kMost = 4;
    std::string text;
    for (size_t i = 0; i < std::min(planes.size(), kMost); ++i) text += (i > 0 ? ", " : "") + planes[i];
    return planes.size() > kMost ? text + ", …" : text;
}

std::string without_gpu(const std::string& file, const XplaneSummary& summary) {
    std::string text = file + ": no GPU in it";
    if (!summary.planes.empty()) text += " (planes: " + listed(summary.planes) + ")";
    if (!summary.end_note.empty()) text += "; it " + summary.end_note;
    return text;
}

void add(std::string& note, const std::string& what) { note += (note.empty() ? "" : "; ") + what; }

std::string note_of(const XplaneSummary& summary) {
    std::string note;
    if (!summary.end_note.empty()) add(note, summary.end_note);
    if (summary.unreadable > 0) add(note, std::to_string(summary.unreadable) + " events could not be read");
    if (summary.nameless > 0)
        add(note, std::to_string(summary.nameless) + " events without a name are left out");
    if (!summary.error.empty()) add(note, "the profiler says: " + summary.error);
    return note;
}

}  // namespace

ImportedFile import_xplane(const std::string& file, const std::filesystem::path& place, bool numbers_count) {
    XplaneImport import(place);
    const XplaneSummary summary = read_xplane(
        file, std::filesystem::absolute(place).parent_path(),
        {.wants = XplaneImport::wants,
         .on_plane = [&](auto plane, const XplaneStats& stats) { import.take_plane(plane, stats); },
         .on_event = [&](const XplaneEvent& event) { import.take(event); }});
    if (!import.has_gpu()) throw Failure(without_gpu(file, summary));
    ImportedTrace trace;
    trace.source = "xplane";
    trace.file = std::filesystem::path(file).filename().string();
    trace.host = summary.host;
    trace.note = note_of(summary);
    trace.rank = rank_of_file_name(file, numbers_count);
    trace.damaged = summary.unreadable + summary.nameless;
    std::string note = trace.note;
    if (const ImportedCounts counts = import.finish(trace); counts.of_no_gpu > 0)
        add(note, too_many_gpus(counts.of_no_gpu));
    return {{place}, note.empty() ? "" : file + ": " + note};
}

}  // namespace gpushim::analysis
