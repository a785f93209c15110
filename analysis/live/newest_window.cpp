#include "newest_window.h"

#include <algorithm>
#include <list>
#include <set>

#include "../failure.h"
#include "../process/temporary.h"
#include "../run/busy/busy_part.h"
#include "../run/collectives/collectives.h"
#include "../run/pass/make_facts.h"
#include "../run/pass/trace_pass.h"
#include "../run/sql/run_db.h"
#include "../trace/inputs.h"
#include "../trace/plausible.h"

namespace gpushim::analysis {

namespace fs = std::filesystem;

namespace {

constexpr int64_t kLongestNs = 2'000'000'000;
constexpr int64_t kBehindNs = 100'000'000;  // what ended the gaps at its end
// Launches, of all traces together: half a second of work for one core. No trace has less than kLeastCalls.
constexpr int64_t kMostCalls = 200'000, kLeastCalls = 2'000;

struct Slice {
    Trace trace;
    WindowOfTrace* window;
};

// The newest window that is over, of all its devices.
std::optional<Interval> newest_span(const Database& base) {
    Query query = base.prepare(
        "SELECT enter_ns, dur_ns FROM \"window\" WHERE dur_ns > 0 ORDER BY enter_ns DESC LIMIT 1");
    if (!query.step()) return {};
    const int64_t begin_ns = plausible_time(query.number(0));
    return Interval{begin_ns, begin_ns + plausible_span(query.number(1))};
}

// From which moment on there are so many launches before the end.
int64_t begin_of_calls(const Database& base, int64_t end_ns, int64_t calls) {
    Query query = base.prepare(
        "SELECT enter_ns FROM launch WHERE enter_ns < ?1 ORDER BY enter_ns DESC LIMIT 1 OFFSET ?2");
    query.bind(1, end_ns);
    query.bind(2, calls);
    return query.step() ? query.number(0) : INT64_MIN;
}

std::string why_none(const Database& base) {
    if (base.is_of_first_schema()) return "its version has no device times";
    Query refused = base.prepare("SELECT why FROM refusal WHERE context_id IS NULL LIMIT 1");
    if (refused.step()) return refused.text(0);
    return "no window with device times is over yet";
}

std::list<Slice> open_slices(std::map<fs::path, WindowOfTrace>& windows) {
    std::list<Slice> slices;
    int64_t length_ns = kLongestNs;
    const auto calls = std::max(kLeastCalls, kMostCalls / static_cast<int64_t>(windows.size() + 1));
    for (auto& [path, window] : windows) try {
            Trace trace = open_trace(path, path);
            const auto span = newest_span(trace.base);
            if (!span) {
                window.why = why_none(trace.base);
                continue;
            }
            window.span = *span;
            length_ns = std::min(
                length_ns,
                span->end_ns - std::max(span->start_ns, begin_of_calls(trace.base, span->end_ns, calls)));
            slices.push_back({std::move(trace), &window});
        } catch (const Failure& failure) {
            window.why = failure.what();
        }
    for (Slice& slice : slices) {
        Interval& span = slice.window->span;
        span.start_ns = std::max(span.start_ns, span.end_ns - length_ns);
        slice.trace.from_ns = span.start_ns;
        slice.trace.until_ns = std::min(slice.trace.until_ns, span.end_ns + kBehindNs);
    }
    return slices;
}

// Who has a seat on each communicator, a rank for each trace that says so.
using Seats = std::map<std::string, std::multiset<int64_t>>;

Seats seats_of(const std::list<Slice>& slices) {
    Seats seats;
    for (const Slice& slice : slices) {
        Query query = slice.trace.base.prepare("SELECT DISTINCT uid, rank FROM communicator");
        while (query.step()) seats[query.text(0)].insert(query.maybe(1).value_or(-1));
    }
    return seats;
}

// Whether all ranks of the communicators that it used are here, once each: copies of a trace tell nothing.
bool is_wait_known(const Trace& trace, const Seats& seats) {
    Query query = trace.base.prepare(
        "SELECT uid, ranks FROM communicator WHERE id IN"
        " (SELECT communicator_id FROM collective WHERE enter_ns >= ?1)");
    query.bind(1, trace.from_ns);
    while (query.step()) {
        const auto seen = seats.find(query.text(0));
        if (seen == seats.end() || query.maybe(1) != static_cast<int64_t>(seen->second.size())) return false;
        if (std::set<int64_t>(seen->second.begin(), seen->second.end()).size() != seen->second.size())
            return false;
    }
    return true;
}

void take_steps(const TraceFacts& facts, WindowOfTrace& window) {
    if (facts.found.source != "detected") return;
    std::vector<int64_t> lengths_ns;
    for (const Step& step : facts.found.steps)
        if (!has_no_end(step)) lengths_ns.push_back(step.length_ns());
    if (lengths_ns.empty()) return;
    window.found_steps = static_cast<int64_t>(lengths_ns.size());
    const auto middle = lengths_ns.begin() + static_cast<std::ptrdiff_t>(lengths_ns.size() / 2);
    std::nth_element(lengths_ns.begin(), middle, lengths_ns.end());
    window.found_step_ns = *middle;
}

void take_parts(RunDb& run, const TraceFacts& facts, bool wait_is_known, WindowOfTrace& window) {
    for (const Gpu& gpu : facts.gpus) {
        GpuParts parts;
        parts.is_wait_known = wait_is_known;
        Query sums(run.raw(), "the newest window",
                   "SELECT sum(window_ns), sum(productive_ns), sum(exposed_transfer_ns), "
                   "sum(waiting_for_peer_ns), sum(memory_ns) FROM v_gpu_step WHERE gpu_id = ?1");
        sums.bind(1, gpu.gpu_id);
        if (!sums.step() || sums.number(0) <= 0) continue;
        parts.whole_ns = sums.number(0);
        parts.productive_ns = sums.number(1);
        parts.transfer_ns = sums.number(2);
        (wait_is_known ? parts.peer_wait_ns : parts.transfer_ns) += sums.number(3);
        parts.copy_ns = sums.number(4);
        Query gaps(run.raw(), "the newest window",
                   "SELECT cause, sum(ns) FROM gap WHERE gpu_id = ?1 GROUP BY cause");
        gaps.bind(1, gpu.gpu_id);
        while (gaps.step()) parts.idle[cause_named(gaps.text(0))] += gaps.number(1);
        window.gpus[gpu.device_id] = parts;
    }
    if (window.gpus.empty()) window.why = "too few of its operations have device times";
}

// The views that say what a GPU's time was, and none of those that are of a whole run.
void make_views(RunDb& run) {
    for (size_t i = 0; i < kRunSqlFiles; ++i)
        if (std::string_view(kRunSql[i].name) == "views/10_totals.sql") run.run(kRunSql[i].text);
}

}  // namespace

std::optional<int64_t> newest_window_of(const Database& trace) {
    const auto span = newest_span(trace);
    return span ? std::optional(span->start_ns) : std::nullopt;
}

std::map<fs::path, WindowOfTrace> read_newest_windows(const std::vector<fs::path>& traces,
                                                      const std::atomic<bool>& stop) {
    std::map<fs::path, WindowOfTrace> windows;
    for (const fs::path& trace : traces) windows[trace];
    std::list<Slice> slices = open_slices(windows);
    const TemporaryFolder folder;
    RunDb run(folder.path() / "window.db");
    make_views(run);
    std::list<TraceFacts> all;
    int64_t next_gpu_id = 0;
    Collectives collectives;
    for (const Slice& slice : slices) {
        if (stop) return windows;
        all.push_back(make_facts(slice.trace, static_cast<int64_t>(all.size()), next_gpu_id, {}));
        find_steps(all.back());
        collectives.read(all.back());
    }
    collectives.match();
    const Seats seats = seats_of(slices);
    auto slice = slices.begin();
    for (const TraceFacts& facts : all) {
        if (stop) return windows;
        std::vector<std::unique_ptr<Part>> parts;
        parts.push_back(make_busy_part(facts));
        const auto wait_of = [&](int64_t enter_ns) { return collectives.wait_of(facts.rank_id, enter_ns); };
        pass_over(facts, wait_of, run, std::move(parts));
        run.end_turn(facts.rank_id);
        take_steps(facts, *slice->window);
        take_parts(run, facts, is_wait_known(slice->trace, seats), *slice->window);
        ++slice;
    }
    return windows;
}

}  // namespace gpushim::analysis
