// What the names of planes, lines and events of an XPlane file tell, and the texts that they have for
// details. Pure; any thread.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace gpushim::analysis {

// "/device:GPU:6".
std::optional<int64_t> gpu_of_plane(std::string_view plane);
// A plane of the host's threads: those of the program and of what CUPTI saw of its calls.
bool is_plane_of_threads(std::string_view plane);
// "Stream #134(Compute,MemcpyD2D)". None: a line that the profiler derived from streams, or no stream.
std::optional<int64_t> stream_of_line(std::string_view line);
// "Host Threads/4712/NVTX": the thread whose ranges these are.
std::optional<int64_t> thread_of_ranges(std::string_view line);
// Lines that a profiler derived from others have numbers of their own.
bool is_derived_line(int64_t id);

enum class XplaneKind : uint8_t { kernel, copy, set, graph, other };
struct XplaneWork {
    XplaneKind kind = XplaneKind::kernel;
    uint8_t direction = 0;  // of our table `copy`
};
// By the name of what ran on a stream, where nothing else tells.
XplaneWork work_named(std::string_view name);

// "regs:38 shm:0 grid:160,1,1 block:1024,1,1", "kind_src:pageable kind_dst:device size:8 dest:4 async:1".
struct XplaneDetails {
    std::optional<std::array<int64_t, 3>> grid, block;
    std::optional<int64_t> shared_bytes, bytes, is_async;
    uint8_t source = 0, target = 0;  // of our table `copy`
};
XplaneDetails details_in(std::string_view text);

// A call of the driver: its own name if the file has it, else that of the call which asks for such work.
// `may_wait`: of a copy, it is not asynchronous.
std::string call_named(std::string_view event, bool may_wait);

}  // namespace gpushim::analysis
