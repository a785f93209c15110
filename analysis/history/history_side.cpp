// A run as rows of a history, and back.
#include <sqlite3.h>

#include <algorithm>

#include "../failure.h"
#include "../run/sql/run_db.h"
#include "history_db.h"

namespace gpushim::analysis {

namespace {

constexpr size_t kMostSteps = 2000, kMostKept = 1000;

Value flag(bool is) { return int64_t{is}; }

// The kernels in which most time goes; without times, the most launched.
std::vector<std::pair<std::string, KernelUse>> largest(const Side& side) {
    std::vector<std::pair<std::string, KernelUse>> all(side.kernels.begin(), side.kernels.end());
    std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) {
        return std::pair(a.second.ns.value_or(0), a.second.launches) >
               std::pair(b.second.ns.value_or(0), b.second.launches);
    });
    if (all.size() > kMostKept) all.resize(kMostKept);
    return all;
}

}  // namespace

int64_t History::add(const Night& night, const Side& side) {
    put("INSERT INTO night VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        {night.name,
         night.started_real_ns,
         night.series,
         night.place,
         std::string(name_of(night.result)),
         night.why,
         night.cause,
         flag(night.is_base),
         flag(night.is_accepted),
         maybe(night.base),
         maybe(night.first_bad),
         maybe(night.step_ns),
         maybe(side.samples_per_step),
         maybe(side.busy_share),
         maybe(side.productive_share),
         maybe(side.launches_per_step),
         side.gpus,
         side.ranks_seen,
         maybe(side.ranks_expected),
         flag(side.is_whole),
         side.why_no_steps});
    const int64_t id = sqlite3_last_insert_rowid(base_.get());
    if (night.first_bad == night.id)
        put("UPDATE night SET first_bad = ?1 WHERE night = ?1 AND first_bad IS NOT NULL", {id});
    for (const std::string& uuid : side.traces) put("INSERT INTO night_trace VALUES (?, ?)", {id, uuid});
    int64_t nth = 0;
    for (const Surrounding& one : side.around)
        put("INSERT INTO night_around VALUES (?, ?, ?, ?, ?)", {id, nth++, one.kind, one.name, one.value});
    for (nth = 0; const auto& [name, use] : largest(side))
        put("INSERT INTO night_kernel VALUES (?, ?, ?, ?)", {id, name, use.launches, maybe(use.ns)});
    for (const Predicted& one : side.predicted)
        put("INSERT INTO night_finding VALUES (?, ?, ?, ?, ?)",
            {id, nth++, one.finding, one.low_ns, one.high_ns});
    for (size_t group = 0; group < side.groups.size(); ++group)
        add_group(id, static_cast<int64_t>(group), side.groups[group]);
    add_serving(id, side.serving);
    add_use(id, side);
    return id;
}

// As of night_serving below.
void History::add_use(int64_t night, const Side& side) {
    put("INSERT OR REPLACE INTO night_use VALUES (?, ?, ?, ?)",
        {night, maybe(side.mfu), maybe(side.product_mfu), maybe(side.joules_per_step)});
}

void History::read_use(int64_t night, Side& side) const {
    if (!tells_use_) return;
    Query row = ask("SELECT mfu, product_mfu, joules_per_step FROM night_use WHERE night = ?1", {night});
    if (!row.step()) return;
    side.mfu = row.maybe_real(0);
    side.product_mfu = row.maybe_real(1);
    side.joules_per_step = row.maybe_real(2);
}

// An older gpushim that removes a night does not know of these, and its number is given again.
void History::add_serving(int64_t night, const std::optional<ServingUse>& serving) {
    for (const char* table : {"night_serving", "night_iteration"})
        put(std::string("DELETE FROM ") + table + " WHERE night = ?1", {night});
    if (!serving) return;
    const ServingUse& is = *serving;
    put("INSERT INTO night_serving VALUES (?, ?, ?, ?, ?, ?)",
        {night, maybe(is.token_p50_ns), maybe(is.token_p95_ns), maybe(is.token_p99_ns), is.iterations_per_s,
         is.prefill_share});
    for (const ServingUse::Kind& kind : is.kinds)
        put("INSERT INTO night_iteration VALUES (?, ?, ?, ?, ?)",
            {night, kind.kind, kind.iterations, kind.time_share, maybe(kind.p50_ns)});
}

std::optional<ServingUse> History::serving(int64_t night) const {
    if (!tells_serving_) return {};
    Query row =
        ask("SELECT token_p50_ns, token_p95_ns, token_p99_ns, iterations_per_s, prefill_share"
            " FROM night_serving WHERE night = ?1",
            {night});
    if (!row.step()) return {};
    ServingUse is = {row.maybe(0), row.maybe(1), row.maybe(2), row.real(3), row.real(4), {}};
    Query kind =
        ask("SELECT kind, iterations, time_share, p50_ns FROM night_iteration WHERE night = ?1"
            " ORDER BY time_share DESC, kind",
            {night});
    while (kind.step()) is.kinds.push_back({kind.text(0), kind.number(1), kind.real(2), kind.maybe(3)});
    return is;
}

void History::add_group(int64_t night, int64_t nth, const StepGroup& group) {
    put("INSERT INTO night_group VALUES (?, ?, ?, ?, ?)",
        {night, nth, maybe(group.signature), group.count, flag(group.split.has_value())});
    Query step = ask("INSERT INTO night_step VALUES (?1, ?2, ?3, ?4)", {night, nth});
    int64_t place = 0;
    for (const int64_t ns : thinned(group.lengths_ns, kMostSteps)) {
        sqlite3_reset(step.raw());
        step.bind(3, place++);
        step.bind(4, ns);
        step.step();
    }
    if (!group.split) return;
    for (const auto& [part, ns] : group.split->parts_ns)
        put("INSERT INTO night_part VALUES (?, ?, ?, ?)", {night, nth, part, ns});
}

Side History::side(int64_t night) const {
    Side side;
    Query row =
        ask("SELECT name, started_real_ns, is_whole, ranks_seen, gpus, ranks_expected, samples_per_step,"
            " busy_share, productive_share, launches_per_step, why_no_steps FROM night WHERE night = ?1",
            {night});
    if (!row.step()) throw Failure(where_ + ": has no night " + std::to_string(night));
    side.name = row.text(0);
    side.started_real_ns = row.number(1);
    side.is_whole = row.number(2) != 0;
    side.ranks_seen = row.number(3);
    side.gpus = row.number(4);
    side.ranks_expected = row.maybe(5);
    side.samples_per_step = row.maybe_real(6);
    side.busy_share = row.maybe_real(7);
    side.productive_share = row.maybe_real(8);
    side.launches_per_step = row.maybe_real(9);
    side.why_no_steps = row.text(10);
    side.traces = traces(night);
    side.serving = serving(night);
    read_use(night, side);
    Query around = ask("SELECT kind, name, value FROM night_around WHERE night = ?1 ORDER BY nth", {night});
    while (around.step()) side.around.push_back({around.text(0), around.text(1), around.text(2)});
    Query kernel = ask("SELECT name, launches, ns FROM night_kernel WHERE night = ?1", {night});
    while (kernel.step()) side.kernels[kernel.text(0)] = {kernel.real(1), kernel.maybe_real(2)};
    Query finding =
        ask("SELECT finding, low_ns, high_ns FROM night_finding WHERE night = ?1 ORDER BY nth", {night});
    while (finding.step()) side.predicted.push_back({finding.text(0), finding.real(1), finding.real(2)});
    Query group =
        ask("SELECT nth, signature, steps, is_split FROM night_group WHERE night = ?1 ORDER BY nth", {night});
    while (group.step()) {
        side.groups.push_back(group_of(night, group.number(0), group.number(3) != 0));
        side.groups.back().signature = group.maybe(1);
        side.groups.back().count = group.number(2);
    }
    return side;
}

StepGroup History::group_of(int64_t night, int64_t nth, bool is_split) const {
    StepGroup group;
    Query step =
        ask("SELECT ns FROM night_step WHERE night = ?1 AND nth_group = ?2 ORDER BY nth", {night, nth});
    while (step.step()) group.lengths_ns.push_back(step.number(0));
    if (!is_split) return group;
    group.split.emplace();
    Query part = ask("SELECT part, ns FROM night_part WHERE night = ?1 AND nth_group = ?2", {night, nth});
    while (part.step()) group.split->parts_ns[part.text(0)] = part.real(1);
    return group;
}

}  // namespace gpushim::analysis
