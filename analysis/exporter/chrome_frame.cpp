// What stands around the events of a trace: its head, its steps, the names of its rows, its end.
#include <algorithm>

#include "chrome_trace.h"

namespace gpushim::analysis {

// Members stand on lines of their own: some readers look for the rank line by line, with a space behind its
// colon.
void ChromeTrace::write_head(std::string_view of_what) {
    std::string text = "{\n\"schemaVersion\": 1,\n";
    if (head_.rank) {
        text += "\"distributedInfo\": {\n\"backend\": \"nccl\",\n\"rank\": " + std::to_string(*head_.rank);
        if (head_.world_size) text += ",\n\"world_size\": " + std::to_string(*head_.world_size);
        text += "\n},\n";
    }
    text += "\"deviceProperties\": [";
    for (const ExportDevice& device : head_.devices) {
        text += &device == head_.devices.data() ? "\n" : ",\n";
        text += "{\"id\": " + std::to_string(device.id) + ", \"name\": " + event_.quoted(device.name);
        if (!device.uuid.empty()) text += ", \"uuid\": " + event_.quoted(device.uuid);
        if (device.memory_bytes) text += ", \"totalGlobalMem\": " + std::to_string(*device.memory_bytes);
        text += "}";
    }
    text += "\n],\n\"displayTimeUnit\": \"ms\",\n\"baseTimeNanoseconds\": " +
            std::to_string(base_ns_ + head_.real_minus_mono_ns) +
            ",\n\"traceName\": " + event_.quoted(head_.file);
    if (!head_.host.empty()) text += ",\n\"host_name\": " + event_.quoted(head_.host);
    text +=
        ",\n\"exported_by\": \"gpushim\",\n\"exported\": " + event_.quoted(of_what) + ",\n\"traceEvents\": [";
    file_.write(text);
}

// On a row of their own: a program's own ranges may cross a step's begin. A step ends a nanosecond before the
// next one begins: TensorBoard's plugin adds start and length as floating-point numbers, and leaves out steps
// that then overlap.
void ChromeTrace::write_steps() {
    for (size_t i = 0; i < head_.steps.size(); ++i) {
        const ExportStep& step = head_.steps[i];
        const bool is_followed = i + 1 < head_.steps.size() && head_.steps[i + 1].begin_ns == step.end_ns &&
                                 step.end_ns - step.begin_ns > 1;
        const Placed placed =
            tracks_.nested(pid_, kStepsTid, step.begin_ns, step.end_ns - (is_followed ? 1 : 0));
        event_.begin('X', "user_annotation", "ProfilerStep#" + std::to_string(step.number));
        put(event_.at(pid_, placed.tid, after_base(placed.start_ns)).lasts(placed.end_ns - placed.start_ns));
    }
}

void ChromeTrace::name(int64_t pid, int64_t tid, const char* what, std::string_view text) {
    event_.begin('M', "", what);
    put(event_.at(pid, tid, 0).arg("name", text));
}

void ChromeTrace::order(int64_t pid, int64_t tid, const char* what, int64_t place) {
    event_.begin('M', "", what);
    put(event_.at(pid, tid, 0).arg("sort_index", place));
}

// In a file of several processes a name says whose it is.
std::string ChromeTrace::in_front() const {
    if (!part_) return "";
    return head_.rank ? "rank " + std::to_string(*head_.rank) + ": "
                      : "process " + std::to_string(head_.pid) + ": ";
}

void ChromeTrace::write_names() {
    const int64_t place = part_ ? part_->pid : 0;
    const std::string rank = head_.rank ? "rank " + std::to_string(*head_.rank) + ", " : "";
    name(pid_, 0, "process_name", in_front() + (head_.executable.empty() ? "process" : head_.executable));
    event_.begin('M', "", "process_labels");
    put(event_.at(pid_, 0, 0).arg("labels", rank + "process " + std::to_string(head_.pid)));
    order(pid_, 0, "process_sort_index", place);
    if (!head_.steps.empty()) name(pid_, kStepsTid, "thread_name", "steps");
    for (const ExportTrack& thread : head_.threads)
        name(pid_, thread.number, "thread_name", thread.name.empty() ? "thread" : thread.name);
    for (const int64_t tid : gaps_of_) {
        name(pid_, kGapsTid + tid, "thread_name", "between calls of " + std::to_string(tid));
        order(pid_, kGapsTid + tid, "thread_sort_index", tid);
    }
    write_gpu_names(rank);
    for (const ExtraTrack& extra : tracks_.extra())
        name(extra.pid, extra.tid, "thread_name", "beside " + std::to_string(extra.beside));
}

// GPUs stand below the processes; of several processes, each below its own.
void ChromeTrace::write_gpu_names(const std::string& rank) {
    constexpr int64_t kBehind = 5'000'000;
    for (const ExportDevice& device : head_.devices) {
        const auto is_its = [&](const ExportTrack& stream) { return stream.device == device.id; };
        if (part_ && std::none_of(head_.streams.begin(), head_.streams.end(), is_its)) continue;
        const int64_t pid = gpu(device.id);
        name(pid, 0, "process_name", in_front() + device.name);
        event_.begin('M', "", "process_labels");
        put(event_.at(pid, 0, 0).arg("labels", rank + "GPU " + std::to_string(device.id)));
        order(pid, 0, "process_sort_index", part_ ? pid : kBehind + device.id);
        name(pid, kWindowsTid, "thread_name", "device times");
    }
    for (const ExportTrack& stream : head_.streams) {
        if (stream.device == ExportRow::kNone) continue;
        name(gpu(stream.device), stream.number, "thread_name",
             "stream " + std::to_string(stream.number) + " (" + stream.name + ")");
        order(gpu(stream.device), stream.number, "thread_sort_index", stream.number);
    }
}

ChromeCounts ChromeTrace::finish() {
    counters_.finish();
    write_names();
    if (!part_) write_end(file_, counts_);
    return counts_;
}

void write_end(TextFile& file, const ChromeCounts& counts) {
    file.write("\n],\n\"operations\": " + std::to_string(counts.operations) +
               ",\n\"operations_without_times\": " + std::to_string(counts.untimed) +
               ",\n\"operations_without_a_row\": " + std::to_string(counts.too_many) + "\n}\n");
}

}  // namespace gpushim::analysis
