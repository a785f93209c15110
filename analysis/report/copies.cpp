// What was copied: by rank, stream and kind, with bytes, and the rate of those that the host waited for.
#include <algorithm>

#include "../text/escape.h"
#include "../text/units.h"
#include "section.h"

namespace gpushim::analysis {

namespace {

constexpr size_t kMostRows = 10;

struct Copies {
    const Trace* trace;
    std::string kind, stream, sides;
    bool blocking;
    int64_t count, bytes, call_sum_ns;
};

std::string or_unknown(const std::string& text) { return text.empty() ? "?" : text; }

// A handle is another in every run; the number in its trace is not.
std::string stream_label(const std::string& stream, std::optional<int64_t> id) {
    return id && stream.starts_with("0x") ? "stream " + std::to_string(*id) : or_unknown(stream);
}

std::vector<Copies> copies_of(const Inputs& inputs) {
    std::vector<Copies> all;
    for (const Trace& trace : inputs.traces) {
        Query query = trace.base.prepare(
            "SELECT kind, stream, source, target, coalesce(blocking, 0), copies, bytes, call_sum_ns,"
            " stream_id FROM v_copy_total");
        while (query.step())
            all.push_back({&trace, or_unknown(query.text(0)), stream_label(query.text(1), query.maybe(8)),
                           or_unknown(query.text(2)) + " to " + or_unknown(query.text(3)),
                           query.number(4) != 0, query.number(5), query.number(6), query.number(7)});
    }
    std::stable_sort(all.begin(), all.end(), [](auto& a, auto& b) { return a.bytes > b.bytes; });
    return all;
}

// Only a call that returns when the bytes are there tells how long they took.
std::optional<double> rate_of(const Copies& copies) {
    if (!copies.blocking || copies.call_sum_ns <= 0) return {};
    return static_cast<double>(copies.bytes) * 1e9 / static_cast<double>(copies.call_sum_ns);
}

void write(const Inputs& inputs, Report& report) {
    std::vector<std::vector<std::string>> rows = {
        {"COPIES", "stream", "kind", "memory", "count", "bytes", "in calls", "rate (host)"}};
    Json list = Json::array();
    for (const Copies& copies : copies_of(inputs)) {
        const auto rate = rate_of(copies);
        rows.push_back({copies.trace->label(), for_terminal(copies.stream), for_terminal(copies.kind),
                        copies.sides, count_text(copies.count), bytes_text(static_cast<double>(copies.bytes)),
                        duration_text(static_cast<double>(copies.call_sum_ns)),
                        rate              ? rate_text(*rate)
                        : copies.blocking ? ""
                                          : "async"});
        list.push(Json::object({{"rank", copies.trace->rank},
                                {"stream", copies.stream},
                                {"kind", copies.kind},
                                {"memory", copies.sides},
                                {"blocking", copies.blocking},
                                {"count", copies.count},
                                {"bytes", copies.bytes},
                                {"call_sum_ns", copies.call_sum_ns},
                                {"achieved_bytes_per_s", nullptr},
                                {"host_bytes_per_s", rate}}));
    }
    report.json.set("copies", std::move(list));
    if (rows.size() == 1) return;
    report.line("");
    report.table("llllrrrr", std::move(rows), kMostRows);
}

constexpr Section kSection = {30, write};
const SectionRegistration kRegistration(kSection);

}  // namespace

}  // namespace gpushim::analysis
