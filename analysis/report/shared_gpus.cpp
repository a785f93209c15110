// GPUs that several processes used: how busy they were together. What stands above of each process is its
// own.
#include <algorithm>
#include <map>

#include "../text/units.h"
#include "facts.h"
#include "gpu_label.h"
#include "section.h"

namespace gpushim::analysis::section_shared_gpus {

namespace {

constexpr size_t kMostGpus = 8, kMostProcesses = 4;
constexpr double kWorthSaying = 0.05;

struct Process {
    GpuLabel label;
    std::optional<int64_t> busy_ns, next_own_ns, other_process_ns;
};
struct SharedGpu {
    std::string uuid, why;
    int64_t known_ns = 0;
    std::optional<int64_t> union_ns, tail_ns;
    std::vector<Process> processes;

    std::optional<double> share(std::optional<int64_t> ns) const {
        if (!ns || known_ns <= 0) return {};
        return static_cast<double>(*ns) / static_cast<double>(known_ns);
    }
    // Of what processes say each for itself, so much lies beside another's.
    std::optional<int64_t> beside_ns() const {
        if (!union_ns) return {};
        int64_t sum_ns = 0;
        for (const Process& process : processes) sum_ns += process.busy_ns.value_or(0);
        return std::max<int64_t>(0, sum_ns - *union_ns);
    }
    std::optional<int64_t> idle_ns() const {
        return union_ns ? std::optional(known_ns - *union_ns) : std::nullopt;
    }
};

std::vector<SharedGpu> read(const Database& run) {
    const std::map<int64_t, GpuLabel> labels = gpu_labels(run);
    std::map<int64_t, SharedGpu> gpus;
    Query row = run.prepare(
        "SELECT s.shared_id, s.gpu_id, g.uuid, coalesce(s.why, ''), s.known_ns, s.union_ns, s.tail_ns, "
        "s.busy_ns,"
        " s.next_own_ns, s.other_process_ns FROM shared_gpu s JOIN gpu g ON g.gpu_id = s.gpu_id"
        " ORDER BY s.shared_id, s.gpu_id");
    while (row.step()) {
        SharedGpu& gpu = gpus[row.number(0)];
        gpu.uuid = row.text(2);
        gpu.why = row.text(3);
        gpu.known_ns = row.number(4);
        gpu.union_ns = row.maybe(5);
        gpu.tail_ns = row.maybe(6);
        gpu.processes.push_back({labels.at(row.number(1)), row.maybe(7), row.maybe(8), row.maybe(9)});
    }
    std::vector<SharedGpu> all;
    for (auto& [id, gpu] : gpus) all.push_back(std::move(gpu));
    return all;
}

Json json_of(const SharedGpu& gpu) {
    Json processes = Json::array();
    for (const Process& process : gpu.processes)
        processes.push(Facts()
                           .maybe("rank", process.label.rank, "no rank is known")
                           .maybe("busy_ns", process.busy_ns, gpu.why)
                           .maybe("idle_before_own_ns", process.next_own_ns, gpu.why)
                           .maybe("other_process_ns", process.other_process_ns, gpu.why)
                           .json());
    return Facts()
        .known("gpu", gpu.uuid)
        .known("window_ns", gpu.known_ns)
        .maybe("busy_share", gpu.share(gpu.union_ns), gpu.why)
        .maybe("idle_ns", gpu.idle_ns(), gpu.why)
        .maybe("tail_ns", gpu.tail_ns, gpu.why)
        .maybe("beside_ns", gpu.beside_ns(), gpu.why)
        .known("processes", std::move(processes))
        .json();
}

// "rank 0 40.0 %, rank 1 38.1 %"
std::string list_of(const SharedGpu& gpu, std::optional<int64_t> Process::*ns) {
    std::string text;
    for (size_t i = 0; i < gpu.processes.size() && i < kMostProcesses; ++i) {
        const Process& process = gpu.processes[i];
        text += (text.empty() ? "" : ", ") + process.label.text;
        if (const auto share = gpu.share(process.*ns)) text += " " + percent_text(*share);
    }
    if (gpu.processes.size() > kMostProcesses) text += ", …";
    return text;
}

void write_text(const SharedGpu& gpu, Report& report) {
    const std::string count = count_text(static_cast<int64_t>(gpu.processes.size()));
    report.line("  " + count + " processes on " + gpu.uuid +
                ": what is idle time of one above may be busy time of another");
    if (!gpu.union_ns) return report.line("    how busy they were together is not known: " + gpu.why);
    report.line("    busy " + percent_text(*gpu.share(gpu.union_ns)) + " together (" +
                list_of(gpu, &Process::busy_ns) + ") of " + duration_text(static_cast<double>(gpu.known_ns)) +
                " timed in all");
    if (const auto beside = gpu.share(gpu.beside_ns()); *beside > kWorthSaying)
        report.line("    kernels of several processes at a time: " + percent_text(*beside) +
                    "; without MPS a GPU takes turns, and a kernel's time holds the others' turns");
    report.line("    idle " + percent_text(*gpu.share(gpu.idle_ns())) +
                ", by the process whose work came next: " + list_of(gpu, &Process::next_own_ns) + ", none " +
                percent_text(*gpu.share(gpu.tail_ns)));
}

void write(const ReportSource& source, Report& report) {
    const std::vector<SharedGpu> gpus = read(source.run);
    Json list = Json::array();
    for (const SharedGpu& gpu : gpus) list.push(json_of(gpu));
    report.json.set("shared_gpus", std::move(list));
    for (size_t i = 0; i < gpus.size() && i < kMostGpus; ++i) write_text(gpus[i], report);
    if (gpus.size() > kMostGpus)
        report.line("  … and " + count_text(static_cast<int64_t>(gpus.size() - kMostGpus)) +
                    " more GPUs of several processes: --json has them all");
}

constexpr Section kSection = {"shared_gpus", write};
const SectionRegistration kRegistration(kSection);

}  // namespace

}  // namespace gpushim::analysis::section_shared_gpus
