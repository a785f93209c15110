// What ran: program, ranks, GPUs, when and for how long.
#include <algorithm>
#include <map>
#include <set>

#include "../text/escape.h"
#include "../text/units.h"
#include "../trace/gone.h"
#include "section.h"

namespace gpushim::analysis {

namespace {

struct Gpu {
    std::string uuid, name;
    bool simulated;
};

struct Span {
    int64_t first_ns, last_ns;
};

// A device's name is all that tells that it is none.
bool is_simulated(const std::string& name) { return name.starts_with("Simulated"); }

std::vector<Gpu> gpus_of(const Inputs& inputs) {
    std::vector<Gpu> all;
    for (const Trace& trace : inputs.traces) {
        Query query =
            trace.base.prepare("SELECT uuid, name FROM device WHERE id IN (SELECT device_id FROM context)");
        while (query.step()) all.push_back({query.text(0), query.text(1), is_simulated(query.text(1))});
    }
    return all;
}

// From the first event to the beginning of the last, of all traces; by their indexes, not by reading them.
Span span_of(const Trace& trace) {
    Span span = {INT64_MAX, INT64_MIN};
    Query tables = trace.base.prepare(
        "SELECT t.name FROM sqlite_schema t, pragma_table_info(t.name) c WHERE t.type = 'table' AND c.name = "
        "'thread_id'"
        " AND EXISTS (SELECT 1 FROM pragma_table_info(t.name) WHERE name = 'enter_ns' AND pk = 1)");
    while (tables.step()) {
        const std::string from = " FROM \"" + tables.text(0) + "\")";
        Query ends =
            trace.base.prepare("SELECT (SELECT min(enter_ns)" + from + ", (SELECT max(enter_ns)" + from);
        if (!ends.step() || ends.is_null(0)) continue;
        span.first_ns = std::min(span.first_ns, ends.number(0));
        span.last_ns = std::max(span.last_ns, ends.number(1));
    }
    if (const Intervals gone = gone_spans(trace); !gone.empty())  // there were calls in them
        span = {std::min(span.first_ns, gone.front().start_ns), std::max(span.last_ns, gone.back().end_ns)};
    return span;
}

// "python3", or "python3, train" where programs differ.
std::string programs_of(const Inputs& inputs) {
    std::set<std::string> names;
    for (const Trace& trace : inputs.traces) names.insert(for_terminal(trace.executable));
    std::string text;
    for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
    return text;
}

std::string ranks_text(const Inputs& inputs) {
    std::set<int64_t> ranks;
    std::optional<int64_t> expected;
    for (const Trace& trace : inputs.traces) {
        if (trace.rank) ranks.insert(*trace.rank);
        expected = std::max(expected, trace.world_size);
    }
    const size_t processes = inputs.traces.size();
    if (ranks.empty()) return std::to_string(processes) + (processes == 1 ? " process" : " processes");
    return std::to_string(ranks.size()) + (expected ? " of " + std::to_string(*expected) : "") + " ranks" +
           (processes != ranks.size() ? " in " + std::to_string(processes) + " processes" : "");
}

std::string gpus_text(const std::vector<Gpu>& gpus) {
    std::map<std::string, std::set<std::string>> by_name;
    size_t simulated = 0;
    for (const Gpu& gpu : gpus)
        if (by_name[gpu.name].insert(gpu.uuid).second && gpu.simulated) ++simulated;
    std::string text;
    for (const auto& [name, uuids] : by_name)
        text += (text.empty() ? "" : ", ") + std::to_string(uuids.size()) + " x " + for_terminal(name);
    if (simulated != 0) text += "   SIMULATED: these are not GPU times";
    return text.empty() ? "no GPU used" : text;
}

void write(const Inputs& inputs, Report& report) {
    const std::vector<Gpu> gpus = gpus_of(inputs);
    int64_t longest_ns = 0, started_ns = INT64_MAX;
    for (const Trace& trace : inputs.traces) {
        const Span span = span_of(trace);
        longest_ns = std::max(longest_ns, span.last_ns > span.first_ns ? span.last_ns - span.first_ns : 0);
        started_ns = std::min(started_ns, trace.started_real_ns);
    }
    report.line("ran     " + programs_of(inputs) + "   " + ranks_text(inputs) + "   " + gpus_text(gpus));
    report.line("when    " + time_text(started_ns) + ", " + duration_text(static_cast<double>(longest_ns)) +
                " of calls");
    for (const std::string& note : inputs.notes) report.line("note    " + for_terminal(note));
    for (const std::string& refused : inputs.refused) report.line("MISSING " + for_terminal(refused));

    report.json.set("run", Json::object({{"program", programs_of(inputs)},
                                         {"started_real_ns", started_ns},
                                         {"calls_span_ns", longest_ns}}));
}

constexpr Section kSection = {1, write};
const SectionRegistration kRegistration(kSection);

}  // namespace

}  // namespace gpushim::analysis
