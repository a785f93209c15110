// What each stream is used for. In words only where something stands out: streams whose roles are mixed.
#include "../text/units.h"
#include "facts.h"
#include "gpu_label.h"
#include "section.h"

namespace gpushim::analysis::section_streams {

namespace {

void write(const ReportSource& source, Report& report) {
    const auto labels = gpu_labels(source.run);
    Json list = Json::array();
    Query rows = source.run.prepare(
        "SELECT s.gpu_id, coalesce(s.stream, CAST(s.stream_id AS TEXT)), s.role, s.busy_ns, s.launches,"
        " s.copies, s.bytes, s.memsets, s.graphs, s.collectives, g.why FROM stream_stat s"
        " JOIN gpu g ON g.gpu_id = s.gpu_id ORDER BY s.gpu_id, s.stream_id");
    while (rows.step()) {
        const auto label = labels.find(rows.number(0));
        const std::string untimed =
            rows.text(10).empty() ? "no operation on it has device times" : rows.text(10);
        list.push(Facts()
                      .maybe("rank", label->second.rank, "no rank is known")
                      .known("gpu_id", rows.number(0))
                      .known("stream", rows.text(1))
                      .known("role", rows.text(2))
                      .maybe("busy_ns", rows.maybe(3), untimed)
                      .maybe("launches", rows.maybe(4), "not recorded")
                      .maybe("copies", rows.maybe(5), "not recorded")
                      .maybe("bytes", rows.maybe(6), "not recorded")
                      .maybe("memsets", rows.maybe(7), "not recorded")
                      .maybe("graphs", rows.maybe(8), "not recorded")
                      .maybe("collectives", rows.maybe(9), "not recorded")
                      .json());
    }
    report.json.set("streams", std::move(list));
    Query mixed =
        source.run.prepare("SELECT count(*), count(DISTINCT gpu_id) FROM stream_stat WHERE role = 'mixed'");
    if (mixed.step() && mixed.number(0) > 0)
        report.paragraph("STREAMS    " + count_text(mixed.number(0)) + " of mixed use on " +
                             count_text(mixed.number(1)) + (mixed.number(1) == 1 ? " GPU" : " GPUs") +
                             ": kernels wait there for copies or communication, and these for kernels",
                         11, true);
}

constexpr Section kSection = {"streams", write};
const SectionRegistration kRegistration(kSection);

}  // namespace

}  // namespace gpushim::analysis::section_streams
