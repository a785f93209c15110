#include "newest_window.h"

#include <algorithm>
#include <list>
#include <set>
#include <tuple>

#include "../collective/expected.h"
#include "../failure.h"
#include "../process/temporary.h"
#include "../run/busy/busy_part.h"
#include "../run/collectives/collective_run.h"
#include "../run/collectives/collectives.h"
#include "../run/pass/make_facts.h"
#include "../run/pass/trace_pass.h"
#include "../run/sql/run_db.h"
#include "../trace/inputs.h"
#include "../trace/plausible.h"
#include "shim/schema/size_class.h"

namespace gpushim::analysis {

namespace fs = std::filesystem;

namespace {

constexpr int64_t kLongestNs = 2'000'000'000;
constexpr int64_t kBehindNs = 100'000'000;  // what ended the gaps at its end
// A collective that one rank has entered before its window has no times there, and nobody knows who waited.
constexpr int64_t kEdgeNs = 200'000'000;
// Launches, of all traces together: half a second of work for one core. No trace has less than kLeastCalls.
constexpr int64_t kMostCalls = 200'000, kLeastCalls = 2'000;

// Of the time of collectives: some have no length that is known, on one rank at least.
constexpr double kMostUnknown = 0.25;
constexpr int64_t kRowsBack = 16;  // ranks write the row of a window up to some slots after each other

struct Slice {
    Trace trace;
    WindowOfTrace* window;
    std::vector<Interval> rows;  // the newest first
    int64_t real_minus_mono_ns = 0;
    bool is_common = false;  // it has a window when most others have one
};

std::vector<Interval> newest_rows(const Database& base) {
    std::vector<Interval> rows;
    Query query = base.prepare(
        "SELECT DISTINCT enter_ns, dur_ns FROM \"window\" WHERE dur_ns > 0 ORDER BY enter_ns DESC "
        "LIMIT ?1");
    query.bind(1, kRowsBack);
    while (query.step()) {
        const int64_t begin_ns = plausible_time(query.number(0));
        rows.push_back({begin_ns, begin_ns + plausible_span(query.number(1))});
    }
    return rows;
}

// When so many launches have been made since the begin.
int64_t end_of_calls(const Database& base, int64_t begin_ns, int64_t calls) {
    Query query =
        base.prepare("SELECT enter_ns FROM launch WHERE enter_ns >= ?1 ORDER BY enter_ns LIMIT 1 OFFSET ?2");
    query.bind(1, begin_ns);
    query.bind(2, calls);
    return query.step() ? query.number(0) : INT64_MAX;
}

std::string why_none(const Database& base) {
    if (base.is_of_first_schema()) return "its version has no device times";
    Query refused = base.prepare("SELECT why FROM refusal WHERE context_id IS NULL LIMIT 1");
    if (refused.step()) return refused.text(0);
    return "no window with device times is over yet";
}

std::list<Slice> open_slices(std::map<fs::path, WindowOfTrace>& windows) {
    std::list<Slice> slices;
    for (auto& [path, window] : windows) try {
            Slice slice = {open_trace(path, path), &window, {}};
            slice.rows = newest_rows(slice.trace.base);
            if (slice.rows.empty()) {
                window.why = why_none(slice.trace.base);
                continue;
            }
            Query clock =
                slice.trace.base.prepare("SELECT real_ns, mono_ns FROM clock ORDER BY mono_ns DESC LIMIT 1");
            if (clock.step())
                slice.real_minus_mono_ns = plausible_time(clock.number(0)) - plausible_time(clock.number(1));
            slices.push_back(std::move(slice));
        } catch (const Failure& failure) {
            window.why = failure.what();
        }
    return slices;
}

const Interval* row_at(const Slice& slice, int64_t real_ns) {
    const int64_t mono_ns = real_ns - slice.real_minus_mono_ns;
    for (const Interval& row : slice.rows)
        if (row.start_ns <= mono_ns && mono_ns < row.end_ns) return &row;
    return nullptr;
}

// By the wall clock: when most of them have a window, from the begin of one on; of several such the newest.
int64_t common_moment(const std::list<Slice>& slices) {
    std::vector<std::pair<int64_t, int>> edges;  // an end before a begin
    for (const Slice& slice : slices)
        for (const Interval& row : slice.rows) {
            edges.push_back({row.start_ns + slice.real_minus_mono_ns, 1});
            edges.push_back({row.end_ns + slice.real_minus_mono_ns, -1});
        }
    std::sort(edges.begin(), edges.end());
    int64_t best_ns = INT64_MIN;
    int open = 0, most = 0;
    for (const auto& [real_ns, change] : edges) {
        open += change;
        if (change < 0 || open < most) continue;
        best_ns = real_ns;
        most = open;
    }
    return best_ns;
}

// What all of its windows have from that moment on. A rank that has no window there has its newest.
//
//   rank 0   |──────|            windows begin together; the budget decides how long each is
//   rank 1   |────────────|
//   slices   |▒▒▒▒▒▒|
void choose_spans(std::list<Slice>& slices) {
    const int64_t moment_ns = common_moment(slices);
    const auto calls = std::max(kLeastCalls, kMostCalls / static_cast<int64_t>(slices.size() + 1));
    int64_t common_end_ns = INT64_MAX;
    for (Slice& slice : slices) {
        const Interval* found = row_at(slice, moment_ns);
        slice.is_common = found != nullptr;
        const Interval& whole = found != nullptr ? *found : slice.rows.front();
        const int64_t offset_ns = slice.real_minus_mono_ns;
        const int64_t begin_ns =
            found != nullptr ? std::max(whole.start_ns, moment_ns - offset_ns) : whole.start_ns;
        slice.window->span = {begin_ns, std::min({whole.end_ns, begin_ns + kLongestNs,
                                                  end_of_calls(slice.trace.base, begin_ns, calls)})};
        if (slice.is_common) common_end_ns = std::min(common_end_ns, slice.window->span.end_ns + offset_ns);
    }
    for (Slice& slice : slices) {
        Interval& span = slice.window->span;
        const int64_t end_ns = common_end_ns - slice.real_minus_mono_ns;
        if (slice.is_common && end_ns > span.start_ns) span.end_ns = std::min(span.end_ns, end_ns);
        slice.trace.from_ns = span.start_ns;
        span.start_ns += std::min(kEdgeNs, span.length_ns() / 3);
        slice.trace.windows_from_ns = span.start_ns;
        slice.trace.windows_until_ns = span.end_ns;
        slice.trace.until_ns = std::min(slice.trace.until_ns, span.end_ns + kBehindNs);
    }
}

// Who has a seat on each communicator, a rank for each trace that says so.
using Seats = std::map<std::string, std::multiset<int64_t>>;

Seats seats_of(const std::list<Slice>& slices) {
    Seats seats;
    for (const Slice& slice : slices) {
        if (!slice.is_common) continue;
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

// How much of the time of collectives it is not known of how long they waited for other ranks.
class CollectiveTime : public Part {
  public:
    CollectiveTime(Interval within, int64_t& all_ns, int64_t& unknown_ns)
        : within_(within), all_ns_(all_ns), unknown_ns_(unknown_ns) {}
    void see(const Call& call) override {
        if (call.kind != CallKind::operation || call.type != OperationClass::comm || !call.timed) return;
        if (call.times.start_ns < within_.start_ns || call.times.end_ns > within_.end_ns) return;
        const int64_t length_ns = call.times.end_ns - call.times.start_ns;
        all_ns_ += length_ns;
        if (call.wait_ns == kNotRecorded) unknown_ns_ += length_ns;
    }
    void finish(RunDb&) override {}

  private:
    Interval within_;
    int64_t &all_ns_, &unknown_ns_;
};

void take_steps(const TraceFacts& facts, WindowOfTrace& window) {
    if (facts.found.source != "detected") return;
    std::vector<int64_t> lengths_ns;
    for (const Step& step : facts.found.steps)
        if (!has_no_end(step) && !trains_nothing(step)) lengths_ns.push_back(step.length_ns());
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

// Of what has a transfer time: all of its ranks are here, and its kernel did nothing else.
std::vector<CollectiveRate> rates_of(const CollectiveRun& all) {
    struct Sums {
        int64_t transfers = 0, transfer_ns = 0;
        double algbw_bytes = 0, busbw_bytes = 0;
    };
    std::map<std::tuple<std::string_view, uint64_t, int64_t>, Sums> kinds;
    for (const RunCommunicator& comm : all.communicators) {
        const auto error_ns = clock_error_ns(comm, all.clocks);
        for (const CollectiveInstance& instance : comm.instances) {
            const std::string_view api = facts_of(instance.op).api;
            const auto transfer_ns = times_of(comm, instance, all.clocks, error_ns).transfer_ns;
            if (api.empty() || instance.bytes < 0 || !transfer_ns) continue;
            const auto rate =
                rates(instance.op, instance.whole_bytes, instance.ranks, *transfer_ns, *transfer_ns);
            if (!rate) continue;
            Sums& sums = kinds[{api, size_class(static_cast<uint64_t>(instance.bytes)), instance.ranks}];
            ++sums.transfers;
            sums.transfer_ns += *transfer_ns;
            sums.algbw_bytes += rate->algbw_gb_per_s * static_cast<double>(*transfer_ns);
            sums.busbw_bytes += rate->busbw_gb_per_s * static_cast<double>(*transfer_ns);
        }
    }
    std::vector<CollectiveRate> found;
    for (const auto& [key, sums] : kinds) {
        const double seconds = static_cast<double>(sums.transfer_ns) * 1e-9;
        found.push_back({std::get<0>(key), std::get<1>(key), std::get<2>(key), sums.transfers,
                         sums.algbw_bytes / seconds, sums.busbw_bytes / seconds});
    }
    return found;
}

}  // namespace

std::optional<int64_t> newest_window_of(const Database& trace) {
    const std::vector<Interval> rows = newest_rows(trace);
    return rows.empty() ? std::nullopt : std::optional(rows.front().start_ns);
}

NewestWindows read_newest_windows(const std::vector<fs::path>& traces, const std::atomic<bool>& stop) {
    NewestWindows windows;
    for (const fs::path& trace : traces) windows.of[trace];
    std::list<Slice> slices = open_slices(windows.of);
    choose_spans(slices);
    const TemporaryFolder folder;
    RunDb run(folder.path() / "window.db");
    std::list<TraceFacts> all;
    int64_t next_gpu_id = 0;
    Collectives collectives(folder.path());
    for (const Slice& slice : slices) {
        if (stop) return windows;
        all.push_back(make_facts(slice.trace, static_cast<int64_t>(all.size()), next_gpu_id, {}));
        find_steps(all.back());
        all.back().only_within.reset();  // also what a GPU does between steps, and behind them
        std::vector<CommSeat> seats = read_comm_seats(all.back());
        collectives.put_aside(seats);
        collectives.add(all.back(), std::move(seats));
    }
    collectives.match();
    windows.collectives = rates_of(collectives.all());
    const Seats seats = seats_of(slices);
    auto slice = slices.begin();
    for (const TraceFacts& facts : all) {
        if (stop) return windows;
        std::vector<std::unique_ptr<Part>> parts;
        int64_t comm_ns = 0, unknown_ns = 0;
        parts.push_back(make_busy_part(facts));
        parts.push_back(std::make_unique<CollectiveTime>(slice->window->span, comm_ns, unknown_ns));
        pass_over(facts, collectives.waits_of(facts.rank_id), run, std::move(parts));
        run.end_turn(facts.rank_id);
        take_steps(facts, *slice->window);
        const bool is_known = slice->is_common && is_wait_known(slice->trace, seats) &&
                              static_cast<double>(unknown_ns) <= kMostUnknown * static_cast<double>(comm_ns);
        take_parts(run, facts, is_known, *slice->window);
        ++slice;
    }
    return windows;
}

}  // namespace gpushim::analysis
