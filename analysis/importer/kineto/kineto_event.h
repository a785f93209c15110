// One event of a Kineto trace (what PyTorch's profiler writes), without the ways of its JSON. What the trace
// does not say is absent: an empty optional or view, never 0. Views live only while the event is being given.
//
// Times are ns after the trace's base time, which may stand behind the events (KinetoHead::base_time_ns).
// Kineto itself makes a gpu_annotation start 1 ns early and last 2 ns longer, so that it encloses its
// kernels.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace gpushim::analysis {

enum class KinetoKind : uint8_t {
    kernel,
    copy,
    set,
    runtime_call,
    driver_call,
    annotation,      // a range of a host thread: ProfilerStep#7, record_function, nccl:all_reduce
    gpu_annotation,  // the same as seen on a stream
    cpu_op,
    python_function,
    memory,  // one allocation or free by the framework's allocator: bytes, address, total_*
    overhead,
    gpu_sync,  // what a stream, event or context waited for, where Kineto was asked for it
    // Only in our own exports:
    host_gap,      // a thread between two calls
    timed_window,  // all operations launched in it have device times; without any, the whole trace is one
    process_name,  // `label` is the name of `pid`
    thread_name,   // `label` is the name of `tid` of `pid`: "stream 7"
    kCount
};

enum class KinetoMemory : uint8_t { unknown, pageable, pinned, device, array, managed };
enum class KinetoDirection : uint8_t { unknown, h2d, d2h, d2d, h2h, p2p };

struct KinetoEvent {
    using Number = std::optional<int64_t>;
    using Sizes = std::optional<std::array<int64_t, 3>>;

    KinetoKind kind{};
    KinetoDirection direction{};              // of a copy
    KinetoMemory from_memory{}, to_memory{};  // of a copy; of a set to_memory
    std::string_view name, category;
    int64_t start_ns = 0, duration_ns = 0;
    Number pid, tid;  // of GPU events the device and the stream; absent if the trace has words there
    Number correlation, external_id;

    Number device, context, stream;
    Sizes grid, block;
    Number registers_per_thread, shared_memory_bytes;
    std::optional<double> occupancy_percent;  // estimated by Kineto from the launch, not measured
    Number graph_id, graph_node_id;
    // Only in our own exports: of calls that wait, ask, record or order, on what; of a host_gap.
    Number call_device, call_context, call_stream, event;
    Number thread, running_ns, runqueue_ns, samples;
    Number operations, timed;  // of a timed_window
    Number kernels;            // in a graph that is one operation
    std::string_view kernel;   // of a launch whose kernel has no times
    std::string_view blocked_on;

    Number bytes;  // of copies and sets; of memory with a sign: less than 0 is a free
    Number address, total_allocated_bytes, total_reserved_bytes, device_type;

    std::string_view collective, dtype, group, group_description;
    std::string_view group_ranks;  // "[0, 1, 2]", with "..." in the middle if there are many
    std::string_view input_dimensions, input_types;  // of its tensors: "[[384, 2]]", "["float"]"
    Number in_elements, out_elements, group_size, group_rank, source_rank, target_rank, sequence;
    // Of an operator: its number in autograd; the thread of forward, if it is of backward (else 0).
    Number autograd, forward_thread;

    std::string_view label;
};

}  // namespace gpushim::analysis
