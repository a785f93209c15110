// What we read of CUPTI's activity records: where and when an operation ran. Records are versioned by struct
// (CUpti_ActivityKernel5 to 10 in CUDA 13.0); each version so far has only added at its end, so what is read
// here lies where it always has: cupti_record.cpp asserts that of all versions the header knows. Pure; any
// thread.
#pragma once

#include <cstdint>

#include "../ring/ring_format.h"
#include "../timing/cupti_api.h"

namespace gpushim::shim {

struct DeviceRecord {
    uint32_t correlation;      // of the driver call that asked for it
    uint32_t device;           // ordinal
    int64_t start_ns, end_ns;  // of CUPTI's clock; once the session has read it (cupti_session.h), of ours
    int64_t read_ns;           // when that was; 0: not yet
    uint64_t node;             // CUPTI's number of the graph's node; 0: none
    const char* name;          // of a kernel, for as long as its module is loaded; else null
    GraphNode kind;            // kernel, copy or memset, as CUPTI has it
};

// From CUDA 11.8 on; not the next major version's, which may lay them out anew.
constexpr uint32_t kOldestCupti = 18;
constexpr uint32_t kNewestCupti = 139'999;

constexpr CUpti_ActivityKind kRecordKinds[] = {
    CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,  // not ..._KERNEL, which makes kernels wait for each other
    CUPTI_ACTIVITY_KIND_MEMCPY,
    CUPTI_ACTIVITY_KIND_MEMCPY2,  // between devices
    CUPTI_ACTIVITY_KIND_MEMSET,
};

// False: no operation, or one that was not over when the record was given out.
bool read_record(const CUpti_Activity& record, DeviceRecord& read);

// Of a record of a graph's node: what the graph has there. Kernels of the driver's may carry out copies
// (copy_kernels.def).
GraphNode kind_of_node(const DeviceRecord& record);

}  // namespace gpushim::shim
