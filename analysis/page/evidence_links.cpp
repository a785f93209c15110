#include "evidence_links.h"

#include <algorithm>

#include "../kernel/short_name.h"
#include "../text/escape.h"
#include "../to_int64.h"

namespace gpushim::analysis {

namespace {

struct Place {
    const char *table, *part, *words;
};

// Where the page shows the rows of a table that findings are read from.
constexpr Place kPlaces[] = {
    {"gap", "gpus", "idle time by cause"},
    {"cpu_contention", "gpus", "idle time by cause"},
    {"load_stat", "gpus", "idle time by cause"},
    {"sync_stat", "gpus", "idle time by cause"},
    {"memset_stat", "gpus", "time of each GPU"},
    {"first_gpu", "gpus", "time of each GPU"},
    {"across", "gpus", "time of each GPU"},
    {"kernel", "kernels", "kernels"},
    {"launch_stat", "launches", "launches"},
    {"copy_stat", "copies", "copies"},
    {"transfer_pattern", "copies", "copies"},
    {"collective_stat", "collectives", "collectives"},
    {"allreduce_check", "collectives", "collectives"},
    {"communicator", "collectives", "collectives"},
    {"skew", "ranks", "ranks"},
    {"skew_rank", "ranks", "ranks"},
    {"straggler_window", "ranks", "ranks"},
    {"skew", "timeline", "timeline: ranks under each other"},
    {"skew_rank", "timeline", "timeline: ranks under each other"},
    {"straggler_window", "timeline", "timeline: ranks under each other"},
    {"first_gpu", "timeline", "timeline: GPUs under each other"},
    {"across", "timeline", "timeline: GPUs under each other"},
    {"gpu", "memory", "memory"},
    {"gpu_curve", "memory", "memory"},
    {"nvml_stat", "condition", "clocks and power"},
    {"throttle", "condition", "clocks and power"},
};

// Of findings whose rows are not what there is to look at.
struct PlaceOfFinding {
    const char *id, *part, *words;
};
constexpr PlaceOfFinding kPlacesOfFindings[] = {
    {"prefill_stalls", "serving", "iterations by kind"},
    {"low_coverage", "trust", "events and trust"},
};

// Of a finding the drawn steps that show it, by their figure's id.
struct Drawn {
    const char *id, *steps, *words;
};
constexpr Drawn kDrawn[] = {
    {"prefill_stalls",
     "SELECT DISTINCT d.why FROM v_drawn_step d JOIN iteration i ON i.rank_id = d.rank_id AND i.step = d.step"
     " WHERE i.kind IN ('prefill', 'mixed') AND d.why <> 'excerpt' ORDER BY d.why",
     "a prompt"},
};

struct Spans {
    const char *table, *name_of_row;  // NULL: none is called so
};

// What spans that belong to a row are called (step_rows.cpp, kept_call.cpp), or what is told of them: of a
// collective's kernel and its call the operation.
constexpr Spans kSpans[] = {
    {"gap", "SELECT cause FROM gap WHERE rowid = ?1"},
    {"cpu_contention", "SELECT cause FROM cpu_contention WHERE rowid = ?1"},
    {"load_stat", "SELECT 'alloc_or_load' FROM load_stat WHERE rowid = ?1"},
    {"sync_stat", "SELECT api FROM sync_stat WHERE rowid = ?1"},
    {"memset_stat", "SELECT 'memset' FROM memset_stat WHERE rowid = ?1"},
    {"kernel", "SELECT name FROM kernel WHERE rowid = ?1"},
    {"copy_stat",
     "SELECT CASE kind WHEN 'h2d' THEN 'copy to the device' WHEN 'd2h' THEN 'copy to the host'"
     " WHEN 'p2p' THEN 'copy between GPUs' END FROM copy_stat WHERE rowid = ?1"},
    {"transfer_pattern",
     "SELECT CASE pattern WHEN 'repeated_input' THEN 'copy to the device' ELSE 'copy to the host' END"
     " FROM transfer_pattern WHERE rowid = ?1"},
    {"collective_stat",
     "SELECT nullif(replace(op, '_', ''), 'unnamed') FROM collective_stat WHERE rowid = ?1"},
};

// Empty: no span is known to belong to this row.
std::string name_of_spans(const PageInput& input, const std::string& table, int64_t rowid) {
    for (const Spans& spans : kSpans) {
        if (table != spans.table) continue;
        Query row = input.source.run.prepare(spans.name_of_row);
        row.bind(1, rowid);
        if (!row.step() || row.is_null(0)) return "";
        return shown(table == "kernel" ? input.source.short_kernel_name(row.text(0)) : row.text(0));
    }
    return "";
}

void add(EvidenceLink link, std::vector<EvidenceLink>& links) {
    const bool is_there = std::any_of(links.begin(), links.end(), [&](const EvidenceLink& other) {
        return other.part == link.part && other.find == link.find;
    });
    if (!is_there) links.push_back(std::move(link));
}

void add_drawn_steps(const PageInput& input, const std::string& id, std::vector<EvidenceLink>& links) {
    for (const Drawn& drawn : kDrawn) {
        if (id != drawn.id) continue;
        for (Query step = input.source.run.prepare(drawn.steps); step.step();)
            add({"step-" + step.text(0), "timeline: the " + step.text(0) + " step is " + drawn.words}, links);
    }
}

}  // namespace

std::vector<EvidenceLink> evidence_links(const PageInput& input, const Json& finding) {
    std::vector<EvidenceLink> links;
    const std::string id = finding["id"].words();
    for (const PlaceOfFinding& place : kPlacesOfFindings)
        if (id == place.id) add({place.part, place.words}, links);
    add_drawn_steps(input, id, links);
    if (!links.empty()) return links;
    for (const Json& row : finding["evidence"].items()) {
        const std::string table = row["table"].words();
        for (const Place& place : kPlaces)
            if (table == place.table) add({place.part, place.words}, links);
        const std::string name = name_of_spans(input, table, to_int64(row["rowid"].amount().value_or(0)));
        if (!name.empty())
            add({"timeline", "timeline: " + cut_in_the_middle(name, kWidestKernel), name}, links);
    }
    return links;
}

std::vector<std::string> found_by_links(const PageInput& input) {
    std::vector<std::string> names;
    for (const Json& finding : input.of("findings").items())
        for (const EvidenceLink& link : evidence_links(input, finding))
            if (!link.find.empty() && std::find(names.begin(), names.end(), link.find) == names.end())
                names.push_back(link.find);
    return names;
}

}  // namespace gpushim::analysis
