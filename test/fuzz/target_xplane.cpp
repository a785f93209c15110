// An XPlane file, plain or gzip: the reader alone.
#include "analysis/importer/xplane/xplane_reader.h"
#include "target.h"

namespace {

using namespace gpushim::analysis;

void read(std::string_view bytes) {
    static const fuzz::InputFile file("made.xplane.pb");
    file.write(bytes);
    fuzz::may_fail(file.path(), [](const std::string& path) {
        uint64_t given = 0;
        const XplaneSummary summary = read_xplane(path, std::filesystem::path(path).parent_path(),
                                                  {.wants = [](std::string_view) { return true; },
                                                   .on_plane = [](std::string_view, const XplaneStats&) {},
                                                   .on_event = [&](const XplaneEvent&) { ++given; }});
        fuzz::require(given == summary.events, "events that were given are not those that were counted");
    });
}

const fuzz::Registration kTarget({"xplane", "an XPlane file", read});

}  // namespace
