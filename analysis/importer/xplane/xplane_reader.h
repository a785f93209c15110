// The XPlane files of TensorFlow's and JAX's profilers (protobuf, plain or gzip), event by event.
//
//   XSpace     a host
//     XPlane     a GPU, or the host's threads; its names stand behind its events
//       XLine      a stream, a thread; or what the profiler made of streams
//         XEvent     a kernel, a copy, a call, a span
//
// Memory is bounded, whatever the file: a plane is read twice, first its names. Messages that break off or
// are damaged cost what they hold, and are counted; what stands around them is read. Throws Failure where
// there is nothing to read. One thread.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "xplane_stats.h"

namespace gpushim::analysis {

struct XplaneLine {
    int64_t id = 0, base_ns = 0;
    std::string name;
};

struct XplaneEvent {  // views are valid until the next one
    std::string_view plane;
    const XplaneLine* line;
    std::string_view name;
    int64_t start_ns, duration_ns;
    XplaneStats stats;
};

struct XplaneSummary {
    std::vector<std::string> planes;  // the first of them
    std::string host;                 // empty: not told
    std::string error;                // the first that the profiler told of itself
    std::string end_note;             // why not all of it could be read; empty: all was
    uint64_t planes_without_name = 0;
    uint64_t events = 0;      // given
    uint64_t unreadable = 0;  // events without a time that can be, or that are damaged or cut
    uint64_t nameless = 0;    // events whose names are missing: of a plane that breaks off, or of no plane
    uint64_t aggregated = 0;  // events that are counts
};

struct XplaneHandlers {
    std::function<bool(std::string_view plane)> wants;  // its events
    // A plane's own statistics; asked of every plane, before its events.
    std::function<void(std::string_view plane, const XplaneStats& stats)> on_plane;
    std::function<void(const XplaneEvent& event)> on_event;
};

// `folder`: where gzip is unpacked.
XplaneSummary read_xplane(const std::string& path, const std::filesystem::path& folder,
                          const XplaneHandlers& handlers);

}  // namespace gpushim::analysis
