#include "nsys_machine.h"

#include <map>

#include "../decimal.h"
#include "nsys_table.h"

namespace gpushim::analysis {

namespace {

using Variables = std::map<std::string, std::string, std::less<>>;

// What launchers call a rank and how many there are, in the order in which the library asks for them.
struct Launcher {
    std::string_view rank, world_size;
};
constexpr Launcher kLaunchers[] = {
    {"RANK", "WORLD_SIZE"},
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
    {"PMIX_RANK", ""},
    {"PMI_RANK", "PMI_SIZE"},
    {"MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE"},
    {"SLURM_PROCID", "SLURM_NTASKS"},
    {"JAX_PROCESS_ID", "JAX_NUM_PROCESSES"},
};
// Only a step of Slurm has it. The script of a batch job has a rank, too, which is not that of what it runs.
constexpr std::string_view kSlurmRank = "SLURM_PROCID", kSlurmStep = "SLURM_STEP_ID";

void add(Variables& variables, std::string_view entry) {
    const size_t equals = entry.find('=');
    if (equals == std::string_view::npos || equals == 0) return;
    std::string_view value = entry.substr(equals + 1);
    if (value.size() > 1 && value.front() == '"' && value.back() == '"') {
        value.remove_prefix(1);
        value.remove_suffix(1);
    }
    variables.try_emplace(std::string(entry.substr(0, equals)), value);
}

// NAME=value;NAME=value. A value may hold anything, also whole functions of a shell, in lines of their own.
void add_all(Variables& variables, std::string_view text) {
    while (!text.empty()) {
        const size_t end = std::min(text.find(';'), text.size());
        add(variables, text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
    }
}

// Newer versions have those of the program, all those of the machine's session.
Variables environment(const Database& base) {
    Variables variables;
    NsysTable capture(base, "META_DATA_CAPTURE", {"name", "value"});
    while (capture.step())
        if (capture.text(0).ends_with(":ENVIRONMENT_VARIABLE")) add(variables, capture.text(1));
    NsysTable system(base, "TARGET_INFO_SYSTEM_ENV", {"name", "value"});
    while (system.step())
        if (system.text(0) == "DeviceEnvironment") add_all(variables, system.text(1));
    return variables;
}

ImportedNumber number_of(const Variables& variables, std::string_view name) {
    const auto found = variables.find(name);
    if (found == variables.end()) return {};
    const auto number = integer(found->second);
    return number && *number >= 0 ? number : std::nullopt;
}

NsysRank rank_in(const Variables& variables) {
    NsysRank found;
    for (const auto& [rank, world_size] : kLaunchers) {
        if (rank == kSlurmRank && !variables.contains(kSlurmStep)) continue;
        const ImportedNumber number = number_of(variables, rank);
        if (!number || (found.rank && found.rank != number)) continue;
        found.rank = number;
        if (!found.world_size) found.world_size = number_of(variables, world_size);
    }
    if (found.world_size && *found.world_size <= *found.rank) found.world_size.reset();
    return found;
}

}  // namespace

std::vector<ImportedDevice> nsys_devices(const Database& base, int64_t process) {
    std::map<int64_t, int64_t> gpu_of;  // by what the process calls it
    NsysTable seen(base, "TARGET_INFO_CUDA_DEVICE", {"gpuId", "cudaId", "pid"});
    while (seen.step())
        if (process == 0 || seen.maybe(2).value_or(process) == process)
            gpu_of[seen.number(1)] = seen.number(0);
    const bool is_told = !gpu_of.empty();
    std::map<int64_t, ImportedDevice> gpus;
    NsysTable rows(base, "TARGET_INFO_GPU",
                   {"id", "uuid", "name", "totalMemory|memoryTotal", "smCount", "computeMajor",
                    "computeMinor", "cuDevice"});
    while (rows.step()) {
        gpus[rows.number(0)] = {rows.number(0), rows.text(1),  rows.text(2), rows.maybe(3),
                                rows.maybe(4),  rows.maybe(5), rows.maybe(6)};
        // Its own number is the driver's, in the order of the bus; CUDA's may be another.
        const int64_t cuda = rows.maybe(7).value_or(rows.number(0));
        if (!is_told && cuda >= 0) gpu_of[cuda] = rows.number(0);
    }
    std::vector<ImportedDevice> found;
    for (const auto& [cuda, gpu] : gpu_of) {
        const auto is = gpus.find(gpu);
        if (is == gpus.end()) continue;
        found.push_back(is->second);
        found.back().id = cuda;
    }
    return found;
}

NsysRank nsys_rank(const Database& base, int64_t process, bool is_only) {
    NsysTable of_mpi(base, "MPI_RANKS", {"globalTid|globalPid", "rank"});
    while (of_mpi.step())
        if (process_of(of_mpi.maybe(0)) == process && of_mpi.maybe(1)) return {of_mpi.maybe(1), {}};
    return is_only ? rank_in(environment(base)) : NsysRank();
}

}  // namespace gpushim::analysis
