// Allocations of device memory for which there was none left: how many, and what the program held when the
// last of them failed. Of the traces.
#include <algorithm>

#include "../text/escape.h"
#include "../text/units.h"
#include "facts.h"
#include "section.h"

namespace gpushim::analysis::section_failed_allocations {

namespace {

constexpr size_t kIndent = 11, kMostLines = 4;

// Its newest on each device.
struct Failed {
    std::string label, api;
    std::optional<int64_t> rank, device, bytes, held, total, enter_ns;
    int64_t process_failures;  // on any of its devices

    // The driver's own memory and that of other processes are not in `held`.
    std::optional<int64_t> free_at_most() const {
        return total && held ? std::optional(std::max<int64_t>(0, *total - *held)) : std::nullopt;
    }
};

std::string amount(std::optional<int64_t> bytes) {
    return bytes ? memory_text(static_cast<double>(*bytes)) : "an amount that is not recorded";
}

std::string text_of(const Failed& one) {
    std::string text =
        one.label + ": " + count_text(one.process_failures) +
        (one.process_failures == 1 ? " allocation failed; " : " allocations failed; the last, ") +
        for_terminal(one.api) + ", asked for " + amount(one.bytes) + " while the program held ";
    text += amount(one.held) + (one.total ? " of the GPU's " + amount(one.total) : "");
    if (const auto left = one.free_at_most()) text += ": at most " + amount(left) + " was free";
    return text;
}

Json json_of(const Failed& one) {
    const char* const none = "not recorded";
    return Facts()
        .maybe("rank", one.rank, none)
        .maybe("device", one.device, none)
        .known("process_failures", one.process_failures)
        .known("api", one.api)
        .maybe("enter_ns", one.enter_ns, none)
        .maybe("bytes", one.bytes, none)
        .maybe("held_bytes", one.held, none)
        .maybe("memory_total_bytes", one.total, none)
        .maybe("free_at_most_bytes", one.free_at_most(), none)
        .json();
}

std::vector<Failed> failed_of(const Trace& trace) {
    std::vector<Failed> all;
    if (!trace.base.has("v_failed_allocation")) return all;  // a trace of before there was one
    Query row = trace.base.prepare(
        "SELECT api, device_id, bytes, held_bytes, device_bytes, enter_ns,"
        " (SELECT max(nth) + 1 FROM failed_allocation) FROM v_failed_allocation f WHERE nth ="
        " (SELECT max(o.nth) FROM v_failed_allocation o WHERE o.device_id IS f.device_id) ORDER BY "
        "device_id");
    while (row.step())
        all.push_back({trace.label(), row.text(0), trace.rank, row.maybe(1), row.maybe(2), row.maybe(3),
                       row.maybe(4), row.maybe(5), row.number(6)});
    return all;
}

void write(const ReportSource& source, Report& report) {
    if (source.traces == nullptr) return;
    Json list = Json::array();
    size_t lines = 0, more = 0;
    for (const Trace& trace : source.traces->traces)
        for (const Failed& one : failed_of(trace)) {
            list.push(json_of(one));
            if (++lines <= kMostLines)
                report.paragraph((lines == 1 ? "NO MEMORY  " : "           ") + text_of(one), kIndent);
            else
                ++more;
        }
    if (more > 0)
        report.line("           … and " + count_text(static_cast<int64_t>(more)) + " more like these");
    report.json.set("failed_allocations", std::move(list));
}

constexpr Section kSection = {"failed_allocations", write};
const SectionRegistration kRegistration(kSection);

}  // namespace

}  // namespace gpushim::analysis::section_failed_allocations
