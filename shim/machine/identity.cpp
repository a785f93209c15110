#include "identity.h"

#include <fcntl.h>
#include <sys/random.h>
#include <unistd.h>

#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>

#include "../base/performance_variables.h"
#include "script_name.h"

extern "C" char** environ;

namespace gpushim::shim {
namespace {

// What launchers call these; the first that is set counts.
constexpr const char* kRank[] = {"RANK",          "OMPI_COMM_WORLD_RANK", "PMIX_RANK",
                                 "PMI_RANK",      "MV2_COMM_WORLD_RANK",  "SLURM_PROCID",
                                 "JAX_PROCESS_ID"};
constexpr const char* kLocalRank[] = {"LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID",
                                      "MV2_COMM_WORLD_LOCAL_RANK", "SLURM_LOCALID"};
constexpr const char* kWorldSize[] = {"WORLD_SIZE",          "OMPI_COMM_WORLD_SIZE", "PMI_SIZE",
                                      "MV2_COMM_WORLD_SIZE", "SLURM_NTASKS",         "JAX_NUM_PROCESSES"};
// Of one launch by mpirun of Open MPI, on all hosts: random digits, which its numbers of jobs are not.
constexpr const char* kOfOpenMpi = "OMPI_MCA_orte_precondition_transports";
// The variable that has the job's id, and those of which the first that is set tells launches and tasks of
// one job apart: each is a run. JOB_ID is Grid Engine's, or what the user says is one run.
struct JobWords {
    const char* id;
    const char* parts[2];
};
constexpr JobWords kJob[] = {{"SLURM_JOB_ID", {kOfOpenMpi, "SLURM_STEP_ID"}},
                             {"TORCHELASTIC_RUN_ID", {}},
                             {"LSB_JOBID", {kOfOpenMpi, "LSB_JOBINDEX"}},
                             {"PBS_JOBID", {kOfOpenMpi}},
                             {"FLUX_JOB_ID", {kOfOpenMpi}},
                             {"COBALT_JOBID", {kOfOpenMpi}},
                             {"PJM_JOBID", {kOfOpenMpi}},
                             {"OAR_JOB_ID", {kOfOpenMpi}},
                             {"AZUREML_RUN_ID", {}},
                             {"TRAINING_JOB_NAME", {}},
                             {"JOB_ID", {"SGE_TASK_ID"}},
                             {kOfOpenMpi, {}}};
constexpr const char* kRestart[] = {"TORCHELASTIC_RESTART_COUNT", "SLURM_RESTART_COUNT"};

constexpr size_t kMostVariables = 256;
constexpr size_t kVariableBytes = 64 * 1024;

// Held for the life of the process: the identity points into it.
Variable variables[kMostVariables];
char variable_texts[kVariableBytes];

int64_t number_of(const char* text) {
    char* end;
    errno = 0;
    const long long number = strtoll(text, &end, 10);
    return errno == 0 && end != text && *end == '\0' && number >= 0 ? number : -1;
}

template <size_t N>
int64_t number_from(const char* const (&names)[N]) {
    for (const char* name : names) {
        const char* value = getenv(name);
        if (value != nullptr && number_of(value) >= 0) return number_of(value);
    }
    return -1;
}

void copy(char* to, size_t size, const char* text) {
    const size_t length = strnlen(text, size - 1);
    memcpy(to, text, length);
    to[length] = '\0';
}

// A job of torchrun without an id is called "none": no name at all.
const char* id_in(const char* variable) {
    const char* value = variable != nullptr ? getenv(variable) : nullptr;
    return value != nullptr && *value != '\0' && strcmp(value, "none") != 0 ? value : nullptr;
}

const JobWords* job() {
    for (const JobWords& words : kJob)
        if (id_in(words.id) != nullptr) return &words;
    return nullptr;
}

// The first bytes of a small file of /proc or /sys.
size_t read_small(const char* path, char* to, size_t size) {
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    const ssize_t length = file < 0 ? 0 : read(file, to, size - 1);
    if (file >= 0) close(file);
    to[length > 0 ? length : 0] = '\0';
    return length > 0 ? static_cast<size_t>(length) : 0;
}

int64_t start_ticks_of(const char* process) {
    char path[64];
    char stat[1024];
    snprintf(path, sizeof path, "/proc/%s/stat", process);
    if (read_small(path, stat, sizeof stat) == 0) return -1;
    // The second field is a name in brackets, with whatever in it.
    const char* at = strrchr(stat, ')');
    for (int field = 2; at != nullptr && field < 22; ++field) at = strchr(at + 1, ' ');
    return at != nullptr ? strtoll(at + 1, nullptr, 10) : -1;
}

int digit(char c) { return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1; }

void read_boot_id(uint8_t (&to)[16]) {
    char text[64];
    read_small("/proc/sys/kernel/random/boot_id", text, sizeof text);
    size_t nibbles = 0;
    memset(to, 0, sizeof to);
    for (const char* c = text; *c != '\0' && nibbles < 32; ++c) {
        const int value = digit(*c);
        if (value < 0) continue;
        to[nibbles / 2] = static_cast<uint8_t>(to[nibbles / 2] << 4 | value);
        ++nibbles;
    }
}

void make_uuid(uint8_t (&to)[16]) {
    // The kernel's source is there from the start of any system that has a GPU; if not, time and process tell
    // traces of one host apart.
    if (getrandom(to, sizeof to, GRND_NONBLOCK) != sizeof to) {
        const int64_t parts[2] = {start_ticks_of("self"), getpid()};
        memcpy(to, parts, sizeof to);
    }
    to[6] = static_cast<uint8_t>((to[6] & 0x0f) | 0x40);
    to[8] = static_cast<uint8_t>((to[8] & 0x3f) | 0x80);
}

// The same in all processes of a run: the launcher's name for it, or which process launched it and when.
void find_job(TraceIdentity& identity) {
    if (const JobWords* words = job(); words != nullptr) {
        const char* part = nullptr;
        for (const char* name : words->parts)
            if (part == nullptr) part = id_in(name);
        copy(identity.job, sizeof identity.job, id_in(words->id));
        snprintf(identity.run_key, sizeof identity.run_key, "%s%s%s", identity.job,
                 part != nullptr ? "." : "", part != nullptr ? part : "");
        return;
    }
    char parent[24];
    snprintf(parent, sizeof parent, "%d", identity.parent_pid);
    snprintf(identity.run_key, sizeof identity.run_key, "%s:%s:%" PRId64, identity.host, parent,
             start_ticks_of(parent));
}

void find_executable(TraceIdentity& identity) {
    char path[4096];
    const ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
    path[length > 0 ? length : 0] = '\0';
    const char* slash = strrchr(path, '/');
    copy(identity.executable, sizeof identity.executable, slash != nullptr ? slash + 1 : path);
    const std::string_view script = script_name(identity.executable);
    script.copy(identity.script, sizeof identity.script - 1);
}

// Copies NAME=value as two texts; `used` of variable_texts are taken.
bool keep_variable(const char* entry, size_t& used, size_t& count) {
    const size_t bytes = strlen(entry) + 1;
    if (count == kMostVariables || bytes > kVariableBytes - used) return false;
    char* text = variable_texts + used;
    memcpy(text, entry, bytes);
    char* equals = strchr(text, '=');
    *equals = '\0';
    variables[count++] = {text, equals + 1};
    used += bytes;
    return true;
}

std::span<const Variable> performance_variables() {
    size_t used = 0;
    size_t count = 0;
    for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry)
        if (is_performance_variable(*entry)) keep_variable(*entry, used, count);
    return {variables, count};
}

}  // namespace

void identify(TraceIdentity& identity, const Config& from) {
    identity = {};
    make_uuid(identity.trace_uuid);
    read_boot_id(identity.boot_id);
    gethostname(identity.host, sizeof identity.host - 1);
    identity.pid = getpid();
    identity.parent_pid = getppid();
    identity.start_ticks = start_ticks_of("self");
    find_executable(identity);
    identity.rank = number_from(kRank);
    identity.local_rank = number_from(kLocalRank);
    identity.world_size = number_from(kWorldSize);
    identity.restart = number_from(kRestart);
    if (const char* pod = getenv("POD_NAME"); pod != nullptr) copy(identity.pod, sizeof identity.pod, pod);
    copy(identity.tag, sizeof identity.tag, from.tag);
    identity.max_bytes = from.max_bytes;
    identity.min_free_bytes = from.min_free_bytes;
    identity.budget_ppm = static_cast<int64_t>(from.budget_share * 1e6 + 0.5);
    identity.samples_per_step = from.samples_per_step;
    find_job(identity);
    identity.variables = performance_variables();
}

}  // namespace gpushim::shim
