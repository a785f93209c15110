// What ranks and GPUs say of each other: who holds the others back, by how much and why; whether GPUs start
// and work at the same time. Of several communicators the one at which most time was lost.
#include <cstdio>

#include "../skew/saved.h"
#include "../text/escape.h"
#include "../text/units.h"
#include "facts.h"
#include "section.h"

namespace gpushim::analysis::section_skew {

namespace {

struct Straggler {
    int64_t rank;
    std::optional<int64_t> saved_ns, least_saved_ns, most_saved_ns, largest_steps;
    std::optional<double> p_value;
    std::string cause;
    std::optional<double> cause_share;
};

struct Skew {
    bool is_there = false;
    int64_t steps = 0;
    std::optional<int64_t> spread_ns, clock_error_ns, lost_ns;
    std::optional<double> mirror_disagreement;
    std::optional<Straggler> straggler;
    std::string why;
    std::optional<int64_t> first_collectives, of_collectives;  // none: it is of all
    std::optional<int64_t> suspect_rank, needed_steps;         // none: nobody is
    bool has_steps = true;
    std::optional<int64_t> stagger_ns;
    std::optional<double> sequential_index, imbalance, step_skew;
};

void read_ranks(const Database& run, Skew& skew) {
    Query row = run.prepare(
        "SELECT s.steps, s.spread_p50_ns, s.clock_error_ns, s.lost_gpu_ns, s.mirror_disagreement,"
        " coalesce(s.why, ''), coalesce(r.rank, s.straggler_rank), s.time_saved_per_step_ns, s.p_value, "
        "coalesce(s.cause, ''),"
        " s.cause_share, k.largest_steps, s.least_saved_per_step_ns, s.most_saved_per_step_ns,"
        " s.first_collectives, s.of_collectives, s.suspect_rank, s.needed_steps FROM skew s"
        " LEFT JOIN skew_rank k ON k.comm = s.comm AND k.comm_rank = s.straggler_rank"
        " LEFT JOIN rank r ON r.rank_id = k.rank_id"
        " ORDER BY coalesce(s.lost_gpu_ns, 0) DESC, s.comm LIMIT 1");
    if (!row.step()) return;
    skew.is_there = true;
    skew.steps = row.number(0);
    skew.spread_ns = row.maybe(1);
    skew.clock_error_ns = row.maybe(2);
    skew.lost_ns = row.maybe(3);
    skew.mirror_disagreement = maybe_real(row, 4);
    skew.why = row.text(5);
    skew.first_collectives = row.maybe(14);
    skew.of_collectives = row.maybe(15);
    skew.suspect_rank = row.maybe(16);
    skew.needed_steps = row.maybe(17);
    if (!row.is_null(6))
        skew.straggler = {row.number(6), row.maybe(7),       row.maybe(12), row.maybe(13),
                          row.maybe(11), maybe_real(row, 8), row.text(9),   maybe_real(row, 10)};
}

// Of the steps the value in the middle: so many of a hundred do not exceed it.
Query middle(const ReportSource& source, const std::string& column) {
    Query query =
        source.run.prepare("WITH v AS (SELECT " + column + " AS value, row_number() OVER (ORDER BY " +
                           column + ") AS place, count(*) OVER () AS n FROM across WHERE " + column +
                           " IS NOT NULL) SELECT min(CASE WHEN place * 100 >= n * 50 THEN value END) FROM v");
    query.step();
    return query;
}

Skew skew_of(const ReportSource& source) {
    Skew skew;
    read_ranks(source.run, skew);
    skew.has_steps = source.run.prepare("SELECT 1 FROM v_counted_step WHERE is_slice = 0 LIMIT 1").step();
    skew.stagger_ns = middle(source, "stagger_ns").maybe(0);
    skew.sequential_index = maybe_real(middle(source, "sequential_index"), 0);
    skew.imbalance = maybe_real(middle(source, "imbalance"), 0);
    skew.step_skew = maybe_real(middle(source, "step_skew"), 0);
    return skew;
}

Json json_of(const Straggler& straggler) {
    const auto cause = straggler.cause.empty() ? std::nullopt : std::optional(straggler.cause);
    return Facts()
        .known("rank", straggler.rank)
        .maybe("time_saved_per_step_ns", straggler.saved_ns, "not known")
        .maybe("least_saved_per_step_ns", straggler.least_saved_ns, "what is known of its cost is a bound")
        .maybe("most_saved_per_step_ns", straggler.most_saved_ns, "not known")
        .maybe("p_value", straggler.p_value, "not known")
        .maybe("cause", cause, "nothing that was recorded is larger on this rank")
        .maybe("cause_share", straggler.cause_share, "no cause")
        .maybe("largest_steps", straggler.largest_steps, "not recorded")
        .json();
}

Json json_of(const Skew& skew, const Database& run) {
    Query gpus = run.prepare(
        "SELECT count(DISTINCT coalesce(s.shared_id, g.gpu_id)) FROM gpu g LEFT JOIN shared_gpu s"
        " ON s.gpu_id = g.gpu_id WHERE g.gpu_id NOT IN (SELECT gpu_id FROM v_unused_gpu)");
    gpus.step();
    const std::string alone = gpus.number(0) < 2
                                  ? "one GPU"
                                  : "no timed step that all GPUs have, or their steps are of other lengths";
    const std::string none = !skew.why.empty() ? skew.why
                             : skew.is_there   ? "not known"
                                               : "no collective was seen on several ranks";
    Facts facts;
    facts.maybe("spread_p50_ns", skew.spread_ns, none).maybe("clock_error_ns", skew.clock_error_ns, none);
    if (skew.straggler)
        facts.known("straggler", json_of(*skew.straggler));
    else
        facts.maybe("straggler", std::optional<int64_t>(),
                    skew.is_there && skew.why.empty() ? "no rank holds the others back" : none);
    const char* const all = "all were compared";
    return facts.maybe("lost_gpu_ns", skew.lost_ns, none)
        .maybe("first_collectives", skew.first_collectives, all)
        .maybe("of_collectives", skew.of_collectives, all)
        .maybe("stagger_p50_ns", skew.stagger_ns, skew.has_steps ? alone : "no steps were found")
        .maybe("sequential_index", skew.sequential_index, alone)
        .maybe("imbalance", skew.imbalance, alone)
        .maybe("step_skew", skew.step_skew, skew.has_steps ? alone : "no steps were found")
        .json();
}

std::string p_text(double p_value) {
    char text[32];
    if (p_value < 1e-9) return "p < 1e-9";
    std::snprintf(text, sizeof text, "p = %.2g", p_value);
    return text;
}

void write_straggler(const Skew& skew, Report& report) {
    const Straggler& straggler = *skew.straggler;
    std::string text = "rank " + std::to_string(straggler.rank);
    if (straggler.saved_ns) {
        const int64_t most_ns = straggler.most_saved_ns.value_or(*straggler.saved_ns);
        const SavedPerStep saved = {*straggler.saved_ns, straggler.least_saved_ns, most_ns};
        text += " makes a step " + saved.text() + " longer";
    }
    if (straggler.largest_steps)
        text += ", has most work in " + count_text(*straggler.largest_steps) + " of " +
                count_text(skew.steps) + " timed steps";
    if (straggler.p_value) text += " (" + p_text(*straggler.p_value) + ")";
    text += ", cause " + (straggler.cause.empty() ? "unattributed" : for_terminal(straggler.cause));
    report.line("SKEW       " + text);
}

void write_across(const Skew& skew, bool goes_on, Report& report) {
    constexpr double kSequential = 0.8;  // from here on GPUs work one after another
    constexpr double kUneven = 0.1;
    std::string text;
    const auto add = [&](const std::string& part) { text += (text.empty() ? "" : ", ") + part; };
    if (skew.stagger_ns) add("GPUs start " + duration_text(static_cast<double>(*skew.stagger_ns)) + " apart");
    char figure[64];
    if (skew.sequential_index && *skew.sequential_index > kSequential) {
        std::snprintf(figure, sizeof figure, "they work one after another (index %.2f)",
                      *skew.sequential_index);
        add(figure);
    }
    if (skew.imbalance && *skew.imbalance > kUneven) {
        std::snprintf(figure, sizeof figure, "the most loaded has %.0f %% more work than the mean",
                      100 * *skew.imbalance);
        add(figure);
    }
    if (!text.empty()) report.line((goes_on ? "           " : "SKEW       ") + text);
}

// Of a communicator that only some ranks were seen of: each may have waited in all of its collectives.
bool write_missing(const Database& run, Report& report) {
    Query query = run.prepare("SELECT seen, ranks FROM communicator WHERE seen < ranks ORDER BY ranks DESC");
    if (!query.step()) return false;
    report.line("SKEW       not known, nor how long collectives waited and took: of " +
                count_text(query.number(1)) + " ranks " + count_text(query.number(0)) +
                (query.number(0) == 1 ? " was" : " were") + " seen");
    return true;
}

void write(const ReportSource& source, Report& report) {
    const Skew skew = skew_of(source);
    report.json.set("skew", json_of(skew, source.run));
    const bool is_missing = !skew.straggler && write_missing(source.run, report);
    if (skew.straggler) write_straggler(skew, report);
    if (skew.suspect_rank)
        report.line("SKEW       rank " + count_text(*skew.suspect_rank) + " has most own work in all of " +
                    count_text(skew.steps) + " timed steps; " + count_text(skew.needed_steps.value_or(0)) +
                    " are needed to tell that from chance");
    if (skew.of_collectives)
        report.line((skew.straggler || skew.suspect_rank ? "           "
                                                         : "SKEW       no rank holds the others back, ") +
                    std::string("of the first ") + count_text(skew.first_collectives.value_or(0)) + " of " +
                    count_text(*skew.of_collectives) + " collectives; those behind are not compared");
    write_across(skew, is_missing || skew.straggler || skew.suspect_rank || skew.of_collectives, report);
}

constexpr Section kSection = {"skew", write};
const SectionRegistration kRegistration(kSection);

}  // namespace

}  // namespace gpushim::analysis::section_skew
