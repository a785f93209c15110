// Who is being traced: what goes into meta, process and environment of a trace. Plain data, filled once on
// the thread that starts recording; texts are empty and numbers -1 where not known.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "../base/config.h"
#include "../base/performance_variables.h"

namespace gpushim::shim {

struct TraceIdentity {
    uint8_t trace_uuid[16];
    uint8_t boot_id[16];
    char host[65];
    int32_t pid;
    int32_t parent_pid;
    int64_t start_ticks;  // /proc/self/stat, field 22
    char executable[256];
    char script[256];  // that an interpreter runs, or its module; empty: none
    int64_t rank;
    int64_t local_rank;
    int64_t world_size;
    char run_key[256];
    char job[128];  // %j
    char pod[256];  // of Kubernetes, as POD_NAME says; a host's name may be its pod's or its node's
    int64_t restart;
    char tag[1024];
    int64_t budget_ppm;
    int64_t max_bytes;  // 0: no limit
    int64_t min_free_bytes;
    int64_t samples_per_step;  // 0: not told
    int32_t cuda_version;      // that the driver is made for, 13000; 0: not known, or not there yet
    int32_t nccl_version;      // 22803; likewise
    char driver_version[64];   // 580.65.06
    char frameworks[64];       // as list_frameworks() says
    uint32_t clock_kind;
    int64_t started_mono_ns;
    int64_t started_real_ns;
    bool rings_survive;  // false: private memory; a kill costs what was not committed yet
    std::span<const Variable> variables;
};

// Everything but the clock and rings_survive.
void identify(TraceIdentity& identity, const Config& config);

}  // namespace gpushim::shim
