// Kineto JSON, plain or gzip: the reader alone, which has to say the same however often it is asked.
#include "analysis/importer/kineto/kineto_reader.h"
#include "target.h"

namespace {

using namespace gpushim::analysis;

void read(std::string_view bytes) {
    static const fuzz::InputFile file("trace.json");
    file.write(bytes);
    fuzz::may_fail(file.path(), [](const std::string& path) {
        uint64_t given = 0;
        const KinetoSummary summary = read_kineto(path, {}, [&](const KinetoEvent&) { ++given; });
        uint64_t counted = 0;
        for (const uint64_t events : summary.events) counted += events;
        fuzz::require(given == counted, "events that were given are not those that were counted");
        fuzz::require(summary.end == KinetoEnd::whole || !summary.end_note.empty(), "an end without a why");
    });
}

const fuzz::Registration kTarget({"kineto", "Kineto JSON", read});

}  // namespace
