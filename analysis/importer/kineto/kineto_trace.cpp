#include "kineto_trace.h"

#include "../../failure.h"
#include "../host_words.h"
#include "../said_collectives.h"

namespace gpushim::analysis {

namespace {

constexpr int64_t kMicrosecondNs = 1000;
constexpr std::string_view kModule = "nn.Module: ";

// Codes of our table `copy`.
uint8_t code(KinetoMemory memory) {
    constexpr uint8_t kCodes[] = {0, 1, 2, 4, 5, 3};  // unknown, pageable, pinned, device, array, managed
    return kCodes[static_cast<size_t>(memory)];
}
uint8_t code(KinetoDirection direction) {
    constexpr uint8_t kCodes[] = {0, 1, 2, 3, 5, 4};  // unknown, h2d, d2h, d2d, h2h, p2p
    return kCodes[static_cast<size_t>(direction)];
}

class KinetoImport {
  public:
    explicit KinetoImport(const std::filesystem::path& trace) : writer_(trace) {}

    void take(const KinetoEvent& event) {
        has_fractions_ |= event.start_ns % kMicrosecondNs != 0 || event.duration_ns % kMicrosecondNs != 0;
        switch (event.kind) {
            case KinetoKind::kernel:
            case KinetoKind::copy:
            case KinetoKind::set:
                return take_work(event);
            case KinetoKind::runtime_call:
            case KinetoKind::driver_call:
                return take_call(event);
            case KinetoKind::gpu_sync:
                return writer_.waited_for(event.correlation.value_or(0), stream_of(event));
            case KinetoKind::annotation:
                take_said_collective(event);
                return writer_.range(event.name, event.start_ns, event.duration_ns, event.tid);
            case KinetoKind::host_gap:
                return take_gap(event);
            case KinetoKind::timed_window:
                return take_window(event);
            case KinetoKind::cpu_op:
                if (event.external_id) writer_.explain(*event.external_id, arguments_of(event));
                take_operator(event);
                return take_inside(event, HostInside::framework);
            case KinetoKind::python_function:
                if (event.name.starts_with(kModule))
                    writer_.within(event.name.substr(kModule.size()), ImportedOperator::module,
                                   event.start_ns, event.duration_ns, event.tid);
                return take_inside(event, HostInside::python);
            case KinetoKind::thread_name:
                if (event.tid) writer_.name_thread(*event.tid, event.label);
                return;
            default:
                return;
        }
    }

    ImportedCounts finish(ImportedTrace& trace) {
        // PyTorch's profiler writes this format; our own exports have windows, and say nothing of it.
        if (windows_.empty()) trace.frameworks = "pytorch";
        trace.windows = std::move(windows_);
        trace.pid = pid_;
        trace.fraction_ns = has_fractions_ ? 0 : kMicrosecondNs;
        return writer_.finish(trace);
    }

  private:
    // In old traces only the place where it is drawn says where it ran.
    static ImportedStream stream_of(const KinetoEvent& event) {
        return {event.device ? event.device : event.pid, event.context,
                event.stream ? event.stream : event.tid};
    }

    void take_call(const KinetoEvent& event) {
        if (!pid_) pid_ = event.pid;
        writer_.call({.api = event.name,
                      .start_ns = event.start_ns,
                      .duration_ns = event.duration_ns,
                      .thread = event.tid,
                      .correlation = event.correlation,
                      .stream = {event.call_device, event.call_context, event.call_stream},
                      .event = event.event,
                      .kernel = event.kernel});
    }

    void take_gap(const KinetoEvent& event) {
        writer_.gap({event.start_ns, event.duration_ns, event.thread, event.running_ns, event.runqueue_ns,
                     event.samples, event.blocked_on});
    }

    void take_work(const KinetoEvent& event) {
        constexpr ImportedWork::What kWhats[] = {ImportedWork::What::kernel, ImportedWork::What::copy,
                                                 ImportedWork::What::set};
        static_assert(static_cast<int>(KinetoKind::kernel) == 0 && static_cast<int>(KinetoKind::set) == 2);
        const bool is_graph = event.kind == KinetoKind::kernel && event.kernels && event.graph_id;
        writer_.work({.what = is_graph ? ImportedWork::What::graph : kWhats[static_cast<size_t>(event.kind)],
                      .name = event.name,
                      .start_ns = event.start_ns,
                      .duration_ns = event.duration_ns,
                      .stream = stream_of(event),
                      .correlation = event.correlation,
                      .grid = event.grid,
                      .block = event.block,
                      .shared_bytes = event.shared_memory_bytes,
                      .bytes = event.bytes,
                      .direction = code(event.direction),
                      .source = code(event.from_memory),
                      .target = code(event.to_memory),
                      .arguments = arguments_of(event),
                      .operator_id = event.external_id});
    }

    void take_operator(const KinetoEvent& event) {
        const bool is_backward = event.forward_thread.value_or(0) > 0 && event.autograd;
        writer_.within(event.name, is_backward ? ImportedOperator::backward : ImportedOperator::plain,
                       event.start_ns, event.duration_ns, event.tid, event.autograd);
    }

    // Where a range around the launch says which collective that is, its tensors stand beside the range.
    void take_said_collective(const KinetoEvent& event) {
        if (!event.tid || !event.name.starts_with("nccl:")) return;
        ImportedArguments arguments;
        arguments.collective = event.name;
        arguments.dtype = type_in(event.input_types);
        arguments.in_elements = elements_in(event.input_dimensions);
        writer_.said(arguments, event.start_ns, event.duration_ns, *event.tid);
    }

    // Its name may say more than its category: old files have loaders and optimizers among the operators.
    void take_inside(const KinetoEvent& event, HostInside by_category) {
        writer_.inside(event.name, by_category, event.start_ns, event.duration_ns, event.tid);
    }

    void take_window(const KinetoEvent& event) {
        constexpr size_t kMost = 100'000;  // our own traces have one in 10 s
        if (!event.device || windows_.size() == kMost) return;
        windows_.push_back({*event.device, event.start_ns, event.duration_ns, event.operations.value_or(0),
                            event.timed.value_or(0)});
    }

    static ImportedArguments arguments_of(const KinetoEvent& event) {
        return {event.collective,  event.dtype,       event.group,        event.group_description,
                event.group_ranks, event.in_elements, event.out_elements, event.group_size,
                event.source_rank, event.target_rank, event.sequence};
    }

    TraceWriter writer_;
    std::vector<ImportedWindow> windows_;
    ImportedNumber pid_;
    bool has_fractions_ = false;
};

constexpr std::string_view kOwnSpan = "Trace";  // Kineto's, of all that it recorded

uint64_t of_any(const KinetoSummary& summary, std::initializer_list<KinetoKind> kinds) {
    uint64_t count = 0;
    for (const KinetoKind kind : kinds) count += summary.of(kind);
    return count;
}

std::string of_another_version(const KinetoHead& head) {
    constexpr int64_t kKnown = 1;
    if (head.schema_version.value_or(kKnown) == kKnown) return {};
    return "schemaVersion " + std::to_string(*head.schema_version) + ", where " + std::to_string(kKnown) +
           " is known: what is new in it was not read";
}

// Where no GPU worked: what another accelerator did lies in categories of its own.
std::string without_gpu(const KinetoSummary& summary) {
    constexpr size_t kMost = 3;
    if (of_any(summary, {KinetoKind::kernel, KinetoKind::copy, KinetoKind::set}) > 0) return {};
    if (summary.end == KinetoEnd::broken_off) return "no work of a GPU up to there";
    std::string text;
    size_t named = 0;
    for (const auto& [category, events] : summary.unread)
        if (category != kOwnSpan && ++named <= kMost)
            text += (text.empty() ? "" : ", ") + std::to_string(events) + " of " + category;
    if (!text.empty()) return "no work of a GPU in it, and events of kinds that are not read: " + text;
    // What gpushim exported says what is timed, and may have calls alone.
    if (of_any(summary, {KinetoKind::host_gap, KinetoKind::timed_window}) > 0) return {};
    // CUDA was recorded, then.
    if (const uint64_t calls = of_any(summary, {KinetoKind::runtime_call, KinetoKind::driver_call}))
        return "no work of a GPU in it, though it has " + std::to_string(calls) +
               (calls == 1 ? " call" : " calls") +
               " of the driver or the runtime. Either they launched nothing, or the profiler got no times of "
               "that: it stopped before the work was over, or its version does not fit the driver's";
    if (of_any(summary, {KinetoKind::cpu_op, KinetoKind::python_function}) > 0)
        return "no work of a GPU in it; ProfilerActivity.CUDA records it";
    return summary.by_category.contains(kOwnSpan) ? "no work of a GPU in it" : "";
}

uint64_t damaged_in(const KinetoSummary& summary) {
    uint64_t count = 0;
    for (const KinetoSkip why : {KinetoSkip::malformed, KinetoSkip::too_large, KinetoSkip::not_an_object,
                                 KinetoSkip::bad_time, KinetoSkip::bad_duration})
        count += summary.of(why);
    return count;
}

// Other tools write Chrome's format, too, or JSON that is a list of anything.
bool is_of_another_tool(const KinetoSummary& summary) {
    uint64_t others = 0;
    for (const uint64_t skipped : summary.skipped) others += skipped;
    for (size_t kind = 0; kind < summary.events.size(); ++kind)
        if (kind != static_cast<size_t>(KinetoKind::process_name) &&
            kind != static_cast<size_t>(KinetoKind::thread_name) && summary.events[kind] > 0)
            return false;
    const uint64_t damaged = damaged_in(summary);
    return summary.end == KinetoEnd::whole && others > 0 &&
           (damaged == 0 || summary.of(KinetoSkip::not_an_object) == others) &&
           !summary.by_category.contains(kOwnSpan);
}

ImportedTrace described(const KinetoSummary& summary, const std::string& file) {
    ImportedTrace trace;
    trace.source = "kineto";
    trace.file = std::filesystem::path(file).filename().string();
    trace.host = summary.head.host_name;
    trace.note = summary.end_note;
    trace.base_ns = summary.head.base_time_ns.value_or(0);
    trace.rank = summary.rank;
    trace.world_size = summary.head.world_size;
    trace.damaged = damaged_in(summary);
    int64_t place = 0;
    for (const KinetoDevice& device : summary.head.devices) {
        trace.devices.push_back({device.id.value_or(place), "", device.name, device.memory_bytes,
                                 device.sm_count, device.compute_major, device.compute_minor});
        ++place;
    }
    return trace;
}

}  // namespace

ImportedFile import_kineto(const std::string& file, const std::filesystem::path& place, bool numbers_count) {
    KinetoImport import(place);
    const KinetoSummary summary =
        read_kineto(file, {.python_functions = true, .numbers_count = numbers_count},
                    [&](const KinetoEvent& event) { import.take(event); });
    if (is_of_another_tool(summary))
        throw Failure(file + ": not a trace of PyTorch's profiler (Kineto): no event in it is of its kinds");
    ImportedTrace trace = described(summary, file);
    const ImportedCounts counts = import.finish(trace);
    ImportedFile imported{{place}, ""};
    const auto add = [&](const std::string& what) {
        if (!what.empty()) imported.note += (imported.note.empty() ? file + ": " : "; ") + what;
    };
    if (summary.end != KinetoEnd::whole) add(summary.end_note);
    add(of_another_version(summary.head));
    if (trace.damaged > 0) add(std::to_string(trace.damaged) + " events could not be read");
    add(too_many_gpus(counts.of_no_gpu));
    add(without_gpu(summary));
    return imported;
}

}  // namespace gpushim::analysis
