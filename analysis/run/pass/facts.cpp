#include "facts.h"

#include <algorithm>
#include <utility>

#include "../../text/names.h"
#include "../../trace/event_tables.h"
#include "../../trace/plausible.h"
#include "../../trace/timeline.h"
#include "late_reads.h"
#include "latency_survey.h"
#include "make_facts.h"
#include "profile_steps.h"
#include "step_tokens.h"

namespace gpushim::analysis {

namespace {

constexpr int64_t kMostSlices = 100;
// Tokens in which the period of a long run is looked for: first in a few, in more where these do not tell.
constexpr int64_t kFirstLook = 400'000, kLongestLook = 4'000'000;
constexpr int64_t kSlotNs = 10'000'000'000;

void read_gpus(TraceFacts& facts, int64_t& next_gpu_id) {
    const Database& base = facts.trace->base;
    // Traces of before do not have it.
    const bool has_count = base.columns_of("device").contains("multiprocessors");
    Query devices =
        base.prepare(std::string("SELECT id, uuid, name, ") + (has_count ? "multiprocessors" : "NULL") +
                     " FROM device WHERE id IN (SELECT device_id FROM context) ORDER BY id");
    while (devices.step())
        facts.gpus.push_back({next_gpu_id++,
                              devices.number(0),
                              devices.text(1),
                              devices.text(2),
                              is_simulated(devices.text(2)),
                              {},
                              devices.maybe(3)});
}

void read_lanes(TraceFacts& facts) {
    facts.lanes = lanes_of(facts.trace->base);
    std::unordered_map<int64_t, std::string> names;
    // Where a stream's handle is in memory says nothing to anybody; small ones are numbers that traces of
    // other tools have.
    Query streams = facts.trace->base.prepare(
        "SELECT v.id, CASE WHEN s.kind <> 'made' THEN v.stream WHEN h.handle BETWEEN 0 AND 65535"
        " THEN h.handle ELSE v.id END FROM v_stream v JOIN stream s ON s.id = v.id"
        " LEFT JOIN handle h ON h.id = s.handle_id");
    while (streams.step()) names[streams.number(0)] = streams.text(1);
    for (const Lane& lane : facts.lanes) {
        facts.streams.push_back(names[lane.stream_id]);
        int32_t found = -1;
        for (size_t i = 0; i < facts.gpus.size(); ++i)
            if (facts.gpus[i].device_id == lane.device_id) found = static_cast<int32_t>(i);
        facts.gpu_of_lane.push_back(found);
    }
}

class KernelNames {
  public:
    explicit KernelNames(std::vector<Kernel>& kernels) : kernels_(kernels) {}
    int32_t index_of(const std::string& name) {
        if (is_blank(name)) return -1;
        const auto [found, is_new] = known_.try_emplace(name, static_cast<int32_t>(kernels_.size()));
        if (is_new) kernels_.push_back({name, classify(name)});
        return found->second;
    }

  private:
    std::vector<Kernel>& kernels_;
    std::unordered_map<std::string, int32_t> known_;
};

void read_kernels(TraceFacts& facts) {
    const Database& base = facts.trace->base;
    KernelNames names(facts.kernels);
    std::unordered_map<int64_t, int32_t> by_handle;
    Query shapes = base.prepare(
        "SELECT s.id, s.kernel, s.grid_x * s.grid_y * s.grid_z, s.block_x * s.block_y * s.block_z,"
        " s.handle_id, coalesce(a.kind = 'graph_launch', 0) FROM v_shape s"
        " LEFT JOIN shape k ON k.id = s.id LEFT JOIN api a ON a.id = k.api_id");
    while (shapes.step()) {
        const int32_t kernel = names.index_of(shapes.text(1));
        facts.shapes[shapes.number(0)] = {kernel, shapes.number(2), shapes.number(3), shapes.number(5) != 0};
        by_handle[shapes.number(4)] = kernel;
    }
    if (base.is_of_first_schema()) return;
    Query graphs = base.prepare("SELECT id, kernels, copies, memsets, bytes FROM graph");
    while (graphs.step())
        facts.graphs[graphs.number(0)] = {graphs.maybe(1).value_or(kNotRecorded),
                                          graphs.maybe(2).value_or(kNotRecorded),
                                          graphs.maybe(3).value_or(kNotRecorded),
                                          graphs.maybe(4).value_or(kNotRecorded),
                                          {}};
    Query inside = base.prepare(
        "SELECT g.graph_id, h.name, g.count FROM graph_kernel g LEFT JOIN v_handle h ON h.id = g.handle_id");
    while (inside.step())
        facts.graphs[inside.number(0)].by_kernel.push_back(
            {names.index_of(inside.text(1)), inside.number(2)});
}

void read_words(TraceFacts& facts) {
    const Database& base = facts.trace->base;
    Query apis = base.prepare("SELECT id, name, base, kind FROM api");
    while (apis.step()) facts.apis[apis.number(0)] = {apis.text(1), apis.text(2), apis.text(3)};
    facts.host_classes = words_of(base).host_classes;
    facts.python = python_lines_of(base);
}

// Of what was launched last before that: streams run in order.
int64_t last_end_ns(const Trace& trace, int64_t before_ns = INT64_MAX) {
    int64_t end_ns = INT64_MIN;
    for (const char* table : {"launch_device", "copy_device", "memset_device", "graph_launch_device"}) {
        Query last = trace.base.prepare(
            "SELECT max(end_ns) FROM (SELECT enter_ns + start_offset_ns + dur_ns"
            " AS end_ns FROM " +
            std::string(table) + " WHERE enter_ns < ?1 ORDER BY enter_ns DESC LIMIT 10000)");
        last.bind(1, before_ns);
        if (last.step()) end_ns = std::max(end_ns, last.maybe(0).value_or(INT64_MIN));
    }
    return end_ns;
}

// Of another tool's trace: work runs on behind the last call of the host, and is all that is to be seen.
std::optional<Interval> span_of_profile(const Trace& trace) {
    Query windows = trace.base.prepare(
        "SELECT min(w.enter_ns), max(w.enter_ns + w.dur_ns) FROM \"window\" w, meta m"
        " WHERE m.key = 'source' AND NOT EXISTS (SELECT 1 FROM meta WHERE key = 'exported_by')");
    if (trace.base.is_of_first_schema() || !windows.step() || windows.is_null(0)) return {};
    Timeline timeline(trace);  // what the host does before its first work for a device is its start
    Call call;
    const int64_t began_ns = timeline.next(call) ? call.enter_ns : windows.number(0);
    const Interval span = {std::max(windows.number(0), began_ns),
                           std::min(windows.number(1), last_end_ns(trace))};
    const bool is_sane = span.start_ns > -kCenturyNs && span.end_ns < kCenturyNs;
    return is_sane && span.length_ns() > 0 ? std::optional(span) : std::nullopt;
}

}  // namespace

Interval span_of(const Trace& trace) {
    if (const auto span = span_of_profile(trace)) return *span;
    Timeline timeline(trace);
    Interval span = {INT64_MAX, INT64_MIN};
    Call call;
    if (timeline.next(call)) span.start_ns = call.enter_ns;
    const auto reach = [&](const char* table) {
        Query last = trace.base.prepare("SELECT enter_ns + coalesce(dur_ns, 0) FROM \"" + std::string(table) +
                                        "\" ORDER BY enter_ns DESC LIMIT 1");
        if (last.step()) span.end_ns = std::max(span.end_ns, last.number(0));
    };
    for (const char* table : kOperationTables) reach(table);
    reach("sync");
    span.start_ns = std::max(span.start_ns, -kCenturyNs);
    span.end_ns = std::min(span.end_ns, std::min(span.start_ns, kCenturyNs) + kCenturyNs);
    return span;
}

namespace {

// Whole slots of 10 s, as windows are; shorter ones where the run is short.
std::vector<Step> slices_of(Interval span) {
    std::vector<Step> slices;
    if (span.end_ns <= span.start_ns) return slices;
    int64_t length_ns = std::max(int64_t{1}, span.length_ns() / 10);
    if (span.length_ns() > 10 * kSlotNs)
        length_ns = (span.length_ns() / kSlotNs + kMostSlices) / kMostSlices * kSlotNs;
    for (int64_t at_ns = span.start_ns;; at_ns = slices.back().end_ns) {
        const bool is_last = span.end_ns - at_ns <= length_ns;  // no sum: damaged times end at the last ns
        Step slice = {};
        slice.begin_ns = at_ns;
        slice.end_ns = is_last ? span.end_ns : at_ns + length_ns;
        slice.number = static_cast<int64_t>(slices.size()) + 1;
        slices.push_back(slice);
        if (is_last) return slices;
    }
}

bool has_served(const TraceFacts& facts) {
    return std::any_of(facts.kernels.begin(), facts.kernels.end(),
                       [](const Kernel& kernel) { return kernel.facts.purpose > KernelPurpose::gradient; });
}

// What the program marked stays as it is; what only repeats is not a server's step.
void see_whether_it_serves(TraceFacts& facts, const Survey& survey, const Marks& marks) {
    facts.served = find_iterations(survey, facts.options.program, has_served(facts));
    const bool is_marked = facts.found.source != "none" && facts.found.source != "detected";
    if (facts.served.program != Program::serving || is_marked) return;
    facts.found = std::exchange(facts.served.found, {});
    facts.called.clear();  // of the steps that these are in place of
    leave_out(facts.found, marks);
    if (facts.found.source == "none" && facts.served.iterations == 1)
        take_as_one_iteration(facts);
    else
        refuse_iterations_that_hold_little(facts);
}

// A single iteration is where it ran, and all that was launched is of it.
std::vector<Step> launched_in(const TraceFacts& facts) {
    std::vector<Step> steps = facts.steps;
    if (facts.served.iterations != 1 || steps.size() != 1) return steps;
    steps[0].begin_ns = INT64_MIN;
    steps[0].end_ns = INT64_MAX;
    return steps;
}

Intervals windows_of(const Trace& trace) {
    Intervals windows;
    if (trace.base.is_of_first_schema()) return windows;
    Query rows = trace.base.prepare("SELECT enter_ns, dur_ns FROM \"window\" WHERE enter_ns >= ?1");
    rows.bind(1, trace.from_ns);
    while (rows.step()) windows.push_back({rows.number(0), rows.number(0) + rows.number(1)});
    return unite(std::move(windows));
}

// Without steps: until the last wait or operation is over. A window behind it would make the end of a program
// a large part of it.
std::optional<Interval> what_counts_of_slices(const TraceFacts& facts) {
    if (facts.trace->base.is_of_first_schema()) return {};
    Interval span = span_of(*facts.trace);
    span.end_ns = std::max(span.end_ns, last_end_ns(*facts.trace));
    return span.length_ns() > 0 ? std::optional(span) : std::nullopt;
}

// None of another tool's trace: it has no windows, and is short. From the first step that counts until the
// last one is over, and with it what was launched in steps.
std::optional<Interval> what_counts_of_windows(const TraceFacts& facts) {
    if (is_profile(*facts.trace)) return {};
    if (facts.are_slices) return what_counts_of_slices(facts);
    std::optional<Interval> within;
    for (const Step& step : facts.steps)
        if (!step.is_warm_up && !step.is_left_out)
            within = {within ? within->start_ns : step.begin_ns, step.end_ns};
    if (within && !facts.trace->base.is_of_first_schema())
        within->end_ns = std::max(within->end_ns, last_end_ns(*facts.trace, within->end_ns));
    const Intervals windows = windows_of(*facts.trace);
    const bool has_some = within && std::any_of(windows.begin(), windows.end(), [&](const Interval& one) {
                              return one.start_ns < within->end_ns && within->start_ns < one.end_ns;
                          });
    return has_some ? within : std::nullopt;
}

}  // namespace

bool is_simulated(const std::string& name) { return name.starts_with("Simulated"); }

TraceFacts make_facts(const Trace& trace, int64_t rank_id, int64_t& next_gpu_id, const RunOptions& options) {
    TraceFacts facts = {};
    facts.trace = &trace;
    facts.rank_id = rank_id;
    facts.options = options;
    read_gpus(facts, next_gpu_id);
    read_lanes(facts);
    read_kernels(facts);
    read_words(facts);
    return facts;
}

void find_steps(TraceFacts& facts) {
    survey_latencies(facts);
    const Marks marks = marks_of(*facts.trace, facts.options.step_marker);
    Surveyed tokens(tokens_of(facts));
    const auto beginning = [&](int64_t most) { return Beginning{tokens_of(facts, most), most}; };
    const Beginning beginnings[] = {beginning(kFirstLook), beginning(kLongestLook)};
    facts.found = find_steps(tokens.source(), beginnings, marks);
    correct_steps_of_profile(facts);
    see_whether_it_serves(facts, tokens.survey(), marks);
    facts.steps = facts.found.steps;
    facts.are_slices = facts.steps.empty();
    if (facts.served.program == Program::serving && !facts.are_slices)
        facts.iterations = look_into(tokens_of(facts), launched_in(facts));
    follow_late_reads(facts);
    if (facts.are_slices) facts.steps = slices_of(span_of(*facts.trace));
    facts.only_within = what_counts_of_windows(facts);
}

}  // namespace gpushim::analysis
