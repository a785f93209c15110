// The rows of the hook tables as data: a number for each hooked name (the `api` of a ring's slot), and what
// is known about it before it is ever called. Constant; any thread, and whoever reads a ring.
#pragma once

#include <cstddef>
#include <cstdint>

#include "../ring/ring_format.h"

namespace gpushim::shim {

// The newest CUDA version whose names have all been looked at: a newer driver may have ways in without a row.
constexpr int kOldestKnown = 11040, kNewestKnown = 13050;

enum ApiId : uint16_t {
#define HOOK(export, ...) api_##export,
#include "all.def"
    kApis,
};

// A row's traits: some bits, and two small numbers (direction, object).
namespace traits {
enum Trait : uint32_t {
    blocking = 1u << 0,     // a copy or memset that returns when it is done
    per_thread = 1u << 1,   // stream 0 is the thread's own stream
    starts = 1u << 2,       // its success is where recording starts
    inits = 1u << 3,        // cuInit
    lookup = 1u << 4,       // hands out addresses of other exports
    current = 1u << 5,      // changes the thread's current context
    primary = 1u << 6,      // about a device's primary context
    cooperative = 1u << 7,  // a cooperative launch
    capture_begins = 1u << 8,
    capture_ends = 1u << 9,
    profiler_starts = 1u << 10,
    profiler_stops = 1u << 11,
    waits = 1u << 12,    // the stream waits for the value (else it writes it)
    reduces = 1u << 13,  // a collective with a reduction
    rooted = 1u << 14,   // a collective with a root
    sends = 1u << 15,    // point to point
    receives = 1u << 16,
    group_begins = 1u << 17,
    group_ends = 1u << 18,
    splits = 1u << 19,    // a communicator made from another
    shaped = 1u << 20,    // a copy whose bytes carry both memory types (ring_format.h)
    to_array = 1u << 21,  // the target of the copy is an array's handle, not an address
    from_array = 1u << 22,

    // Direction of a copy where its name says it.
    h2d = 1u << 23,
    d2h = 2u << 23,
    d2d = 3u << 23,
    direction_bits = 3u << 23,

    // Class of the object that the event's handle is …
    of_stream = 1u << 25,
    of_event = 2u << 25,
    of_context = 3u << 25,
    of_module = 4u << 25,
    of_library = 5u << 25,
    of_function = 6u << 25,
    of_kernel = 7u << 25,
    of_graph = 8u << 25,
    of_exec = 9u << 25,
    of_pool = 10u << 25,
    of_array = 11u << 25,
    of_communicator = 12u << 25,
    // … or, of memory events, what kind of memory the address is in.
    device_memory = 16u << 25,
    pinned_memory = 17u << 25,
    registered_memory = 18u << 25,
    managed_memory = 19u << 25,
    pool_memory = 20u << 25,
    physical_memory = 21u << 25,  // an allocation's handle, mapped elsewhere
    mapped_memory = 22u << 25,
    shared_memory = 23u << 25,  // of another process: its size is not told (bytes: 1)
    object_bits = 31u << 25,

    on_devices = 1u << 30,  // a communicator for each of several devices: the fourth word is the device
    fences = 1u << 31,      // gives its stream (the first word) something that is no operation
};
}  // namespace traits

// Whose export a row is: all.def has them library by library, from these rows on.
enum class ApiLibrary : uint8_t { driver, nccl, cublas, cublas_lt, count };
constexpr ApiLibrary library_of(ApiId api) {
    return api >= api_cublasLtMatmul   ? ApiLibrary::cublas_lt
           : api >= api_cublasSgemm_v2 ? ApiLibrary::cublas
           : api >= api_ncclAllReduce  ? ApiLibrary::nccl
                                       : ApiLibrary::driver;
}

struct ApiTraits {
    const char* name;  // as exported
    const char* base;  // as cuGetProcAddress is asked for it: without _v2, _ptds, _ptsz
    EventKind kind;
    const char* kind_name;  // as in the table
    uint32_t traits;
    int version;  // the first CUDA version with this form; 0: no row of the driver's
};
extern const ApiTraits api_traits[kApis];

// The first version in which a twin for the thread's own stream exists.
constexpr int twin_version(int version) { return version > 7000 ? version : 7000; }

}  // namespace gpushim::shim
