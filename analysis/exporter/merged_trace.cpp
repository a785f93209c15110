#include "merged_trace.h"

#include <algorithm>
#include <filesystem>
#include <optional>

namespace gpushim::analysis {

namespace {

// None: it has met the first host in no collective.
std::optional<int64_t> offset_of(const ExportHead& head, const Database& run) {
    const std::string file = std::filesystem::path(head.file).filename().string();
    Query offset = run.prepare("SELECT point_ns FROM clock_offset WHERE host = ?1");
    offset.bind(1, head.host.empty() ? file : head.host);
    return offset.step() ? offset.maybe(0) : std::nullopt;
}

}  // namespace

SharedClock shared_clock(std::span<const ExportHead> heads, const Database& run) {
    SharedClock clock;
    clock.real_minus_mono_ns = heads[0].real_minus_mono_ns;
    int64_t first_ns = INT64_MAX;
    for (const ExportHead& head : heads) {
        const auto offset = offset_of(head, run);
        if (!offset && head.host != heads[0].host) clock.by_wall_clock.insert(head.host);
        const int64_t by_wall =
            head.host == heads[0].host ? 0 : head.real_minus_mono_ns - clock.real_minus_mono_ns;
        clock.shift_ns.push_back(offset.value_or(by_wall));
        first_ns = std::min(first_ns, head.first_ns + clock.shift_ns.back());
    }
    clock.base_ns = base_before(first_ns);
    return clock;
}

ChromePart begin_merged(TextFile& file, const SharedClock& clock, size_t processes,
                        std::string_view of_what) {
    EventText text;
    file.write("{\n\"schemaVersion\": 1,\n\"displayTimeUnit\": \"ms\",\n\"baseTimeNanoseconds\": " +
               std::to_string(clock.base_ns + clock.real_minus_mono_ns) +
               ",\n\"processes\": " + std::to_string(processes) +
               ",\n\"exported_by\": \"gpushim\",\n\"exported\": " + text.quoted(of_what) +
               ",\n\"traceEvents\": [");
    return {clock.shift_ns[0], clock.base_ns, kPidsOfPart, true, 0, 0};
}

}  // namespace gpushim::analysis
