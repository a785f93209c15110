// Between which shares of the time each GPU certainly was busy: what the reports' ranges, which hold in 95 of
// 100 cases, leave out. Where a GPU's kind was never calibrated nothing is certain, and the bounds are called
// estimates; where nobody recorded whether it was, bounds.
#include "facts.h"
#include "gpu_figures.h"
#include "section.h"

namespace gpushim::analysis::section_certain {

namespace {

constexpr size_t kMostRows = 6;

std::string between_text(double low, double high) { return percent_text(low) + " to " + percent_text(high); }

std::string run_text(const ReportSource& source, int64_t gpu_id) {
    Query run = source.run.prepare("SELECT busy_share_low, busy_share_high FROM gpu WHERE gpu_id = ?1");
    run.bind(1, gpu_id);
    if (!run.step() || run.is_null(0) || run.is_null(1)) return "not recorded";
    return between_text(run.real(0), run.real(1));
}

struct Kind {
    std::optional<bool> hold;
    const char *head, *note;
};

void write_bounds(const ReportSource& source, const Kind& kind, Report& report) {
    std::vector<std::vector<std::string>> rows = {{kind.head, "busy, where timed", "busy, whole run"}};
    for (const GpuFigures& figures : gpu_figures(source)) {
        if (figures.bounds_hold != kind.hold) continue;
        const ShareRange timed = figures.is_known() ? figures.certainly_busy() : ShareRange{};
        rows.push_back({figures.label.text,
                        figures.is_known() ? between_text(timed.low, timed.high) : "not recorded",
                        run_text(source, figures.gpu_id)});
    }
    if (rows.size() == 1) return;
    report.line("");
    report.table("lrr", std::move(rows), kMostRows);
    if (*kind.note != 0) report.line(std::string("  not certain: ") + kind.note);
}

void write(const ReportSource& source, Report& report) {
    write_bounds(source, {true, "CERTAIN", ""}, report);
    write_bounds(source, {false, "ESTIMATED BOUNDS", "this kind of GPU was never calibrated"}, report);
    write_bounds(source, {{}, "BOUNDS", "not recorded whether this kind of GPU was calibrated"}, report);
}

constexpr Section kSection = {"certain", write, true};
const SectionRegistration kRegistration(kSection);

}  // namespace

}  // namespace gpushim::analysis::section_certain
