#include "trace_tables.h"

#include "../../shim/schema/flags.h"
#include "../sqlite/database_image.h"
#include "api_kinds.h"

namespace gpushim::analysis {

namespace {

// What only traces of other tools have (imported_tables.sql).
struct HostSpanRow {
    static constexpr const char* kTable = "host_span";
    Cell enter_ns, dur_ns, thread_id, inside, stage;
};
std::array<Cell, 5> cells_of(const HostSpanRow& span) {
    return {span.enter_ns, span.dur_ns, span.thread_id, span.inside, span.stage};
}

struct LaunchOperatorRow {
    static constexpr const char* kTable = "launch_operator";
    Cell enter_ns, operator_id, module_id, pass, forward_id;
};
std::array<Cell, 5> cells_of(const LaunchOperatorRow& of) {
    return {of.enter_ns, of.operator_id, of.module_id, of.pass, of.forward_id};
}

int64_t memory_kind(ApiTrait trait) {
    return trait == ApiTrait::pinned_memory ? 2 : trait == ApiTrait::managed_memory ? 3 : 4;
}

}  // namespace

TraceTables::TraceTables(const std::filesystem::path& place, const ImportedTrace& trace,
                         const ImportedNames& names)
    : trace_(trace), names_(names), rows_(place, kTraceImage) {}

int64_t TraceTables::moved(Table table, int64_t enter_ns) {
    int64_t& last = last_[table];
    moved_ += enter_ns <= last;
    return last = std::max(enter_ns, last + 1);
}

void TraceTables::write(ImportedRow row) {
    row.enter_ns += trace_.base_ns;
    if (row.what == ImportedWhat::inside) return write_inside(row);
    if (row.what == ImportedWhat::within) return operators_inside_.open(row.correlation, row);
    if (row.start_ns != kNotThere) row.start_ns += trace_.base_ns;
    first_ns_ = std::min({first_ns_, row.enter_ns, row.start_ns == kNotThere ? row.enter_ns : row.start_ns});
    last_ns_ = std::max(last_ns_, row.enter_ns);
    if (row.start_ns != kNotThere) last_ns_ = std::max(last_ns_, row.start_ns + row.ran_ns);
    const bool is_gap = row.what == ImportedWhat::gap;
    if (row.what == ImportedWhat::call || is_gap) last_ns_ = std::max(last_ns_, row.enter_ns + row.call_ns);
    for (const int64_t part : {row.enter_ns, row.start_ns, row.ran_ns, static_cast<int64_t>(row.what)})
        hash_ = (hash_ ^ static_cast<uint64_t>(part)) * 1099511628211u;
    counts_.rows += !is_gap;  // no call
    if (row.what == ImportedWhat::push || row.what == ImportedWhat::pop)
        write_range(row);
    else if (is_gap)
        write_gap(row);
    else if (row.what == ImportedWhat::call) {
        const std::string_view kind = kind_of_api(names_.apis.at(row.api)).kind;
        if (!write_untimed(row, kind)) write_call(row, kind);
    } else
        write_operation(row);
}

void TraceTables::write_range(const ImportedRow& row) {
    constexpr const char* kKinds[][2] = {{"push", "pop"}, {"range_start", "range_end"}, {"mark", "mark"}};
    const bool ends = row.what == ImportedWhat::pop;
    rows_.add(row::marker{.enter_ns = moved(kMarker, row.enter_ns),
                          .thread_id = row.thread < 0 ? kNotThere : row.thread + 1,
                          .kind = kKinds[row.direction][ends],
                          .name_id = row.name + 1,
                          .dur_ns = ends ? row.call_ns : kNotThere,
                          .flags = 0});
}

void TraceTables::write_gap(const ImportedRow& row) {
    rows_.add(row::host_gap{
        .enter_ns = moved(kGap, row.enter_ns),
        .dur_ns = row.call_ns,
        .thread_id = row.thread + 1,
        .running_ns = row.number,
        .runqueue_ns = row.ran_ns,
        .blocked_on = row.name < 0 ? std::string_view() : std::string_view(names_.names.at(row.name)),
        .samples = row.correlation});
}

void TraceTables::write_inside(const ImportedRow& row) {
    rows_.add(HostSpanRow{.enter_ns = moved(kSpan, row.enter_ns),
                          .dur_ns = row.call_ns,
                          .thread_id = row.thread + 1,
                          .inside = int64_t{row.direction},
                          .stage = row.sides == 0 ? kNotThere : int64_t{row.sides}});
}

void TraceTables::write_operator(const ImportedRow& row, const Cell& enter_ns) {
    if (row.thread < 0 || operators_inside_.empty()) return;
    const OpenOperators::Inside in = operators_inside_.at(names_.threads.at(row.thread), row.enter_ns);
    if (!in.is_told()) return;
    const auto name = [](int32_t id) { return id < 0 ? kNotThere : int64_t{id} + 1; };
    rows_.add(LaunchOperatorRow{.enter_ns = enter_ns,
                                .operator_id = name(in.name),
                                .module_id = name(in.module),
                                .pass = in.pass == OpenOperators::not_told ? kNotThere : int64_t{in.pass},
                                .forward_id = name(in.forward)});
}

// The event that a call is about, as a handle.
int64_t TraceTables::event(const ImportedRow& row, std::string_view kind) {
    const bool is_about_one = kind == "sync" || kind == "query" || kind == "record" || kind == "wait";
    if (!is_about_one || row.number == kNotThere) return kNotThere;
    const auto [found, is_new] = events_.try_emplace(row.number, 0);
    if (is_new) {
        found->second = ++handles_;
        rows_.add(row::handle{.id = found->second, .kind = "event", .handle = row.number});
    }
    return found->second;
}

void TraceTables::write_call(const ImportedRow& row, std::string_view kind) {
    const int64_t thread = row.thread < 0 ? kNotThere : row.thread + 1,
                  stream = row.stream < 0 ? kNotThere : row.stream + 1;
    const int64_t api = row.api + 1;
    if (kind == "sync" || kind == "query")
        rows_.add(row::sync{.enter_ns = moved(kSync, row.enter_ns),
                            .dur_ns = row.call_ns,
                            .thread_id = thread,
                            .api_id = api,
                            .target_id = event(row, kind),
                            .stream_id = stream,
                            .calls = 1,
                            .flags = row.flags});
    else if (kind == "memory")
        rows_.add(row::memory{.enter_ns = moved(kMemory, row.enter_ns),
                              .dur_ns = row.call_ns,
                              .thread_id = thread,
                              .api_id = api,
                              .bytes = row.number,
                              .kind = memory_kind(kind_of_api(names_.apis.at(row.api)).trait),
                              .flags = row.flags});
    else
        rows_.add(row::call{.enter_ns = moved(kCall, row.enter_ns),
                            .dur_ns = row.call_ns,
                            .thread_id = thread,
                            .api_id = api,
                            .target_id = event(row, kind),
                            .stream_id = stream,
                            .flags = row.flags});
}

// What all operations have.
template <class Row>
Row TraceTables::begun(Table table, const ImportedRow& row) {
    return {.enter_ns = moved(table, row.enter_ns),
            .dur_ns = row.call_ns,
            .thread_id = row.thread < 0 ? kNotThere : row.thread + 1,
            .stream_id = row.stream < 0 ? kNotThere : row.stream + 1,
            .flags = 0};
}

// An operation of which only the call and its stream are told; false: it is none.
bool TraceTables::write_untimed(const ImportedRow& row, std::string_view kind) {
    if (row.stream < 0 || row.flags != 0) return false;
    if (kind == "launch") {
        auto launch = begun<row::launch>(kLaunch, row);
        launch.shape_id = shape(row);
        rows_.add(launch);
    } else if (kind == "copy") {
        auto copy = begun<row::copy>(kCopy, row);
        copy.api_id = row.api + 1;
        copy.direction = direction_of(row);
        copy.sides = 0;
        copy.flags = flags_of(row);
        rows_.add(copy);
    } else if (kind == "memset") {
        auto memset = begun<row::memset>(kMemset, row);
        memset.api_id = row.api + 1;
        memset.flags = flags_of(row);
        rows_.add(memset);
    } else if (kind == "graph_launch") {
        auto launch = begun<row::graph_launch>(kGraph, row);
        launch.api_id = row.api + 1;
        rows_.add(launch);
    } else {
        return false;
    }
    return true;
}

int64_t TraceTables::flags_of(const ImportedRow& row) const {
    const bool blocks = row.api >= 0 && kind_of_api(names_.apis.at(row.api)).trait == ApiTrait::blocking;
    return blocks ? kRowBlocking : 0;
}

// AMD's runtime copies by kernels, which do not tell it: there the call does.
uint8_t TraceTables::direction_of(const ImportedRow& row) const {
    if (row.direction != 0 || row.api < 0) return row.direction;
    return direction_of_api(names_.apis.at(row.api));
}

template <class Times>
void TraceTables::write_times(const Cell& enter_ns, const ImportedRow& row) {
    rows_.add(Times{.enter_ns = enter_ns,
                    .start_offset_ns = row.start_ns - enter_ns.number,
                    .dur_ns = row.ran_ns,
                    .level_error_id = 1});
}

void TraceTables::write_work(const ImportedRow& row) {
    const int64_t api = row.api < 0 ? kNotThere : row.api + 1;
    if (row.what == ImportedWhat::kernel) {
        const int64_t group = row.collective < 0 ? kNotThere : ++groups_;
        auto launch = begun<row::launch>(kLaunch, row);
        launch.shape_id = shape(row);
        launch.group_id = group;
        rows_.add(launch);
        if (group != kNotThere) write_collective(row, group);
        write_operator(row, launch.enter_ns);
        write_times<row::launch_device>(launch.enter_ns, row);
    } else if (row.what == ImportedWhat::copy) {
        auto copy = begun<row::copy>(kCopy, row);
        copy.api_id = api;
        copy.bytes = row.number;
        copy.direction = direction_of(row);
        copy.sides = row.sides;
        copy.flags = flags_of(row);
        rows_.add(copy);
        write_times<row::copy_device>(copy.enter_ns, row);
    } else if (row.what == ImportedWhat::graph) {
        auto launch = begun<row::graph_launch>(kGraph, row);
        launch.api_id = api;
        rows_.add(launch);
        write_times<row::graph_launch_device>(launch.enter_ns, row);
    } else {
        auto memset = begun<row::memset>(kMemset, row);
        memset.api_id = api;
        memset.bytes = row.number;
        memset.flags = flags_of(row);
        rows_.add(memset);
        write_times<row::memset_device>(memset.enter_ns, row);
    }
}

void TraceTables::write_operation(const ImportedRow& row) {
    write_work(row);
    if (row.stream < 0 || !names_.streams.at(row.stream).device) return;
    OnDevice& device = operations_[*names_.streams.at(row.stream).device];
    ++device.operations;
    if (row.start_ns >= device.first_start_ns) return;
    device.first_start_ns = row.start_ns;
    device.first_called_ns = row.thread < 0 ? kNotThere : row.enter_ns + row.call_ns;
}

// The profiler saw its kernel only: the call itself is where that was launched.
void TraceTables::write_collective(const ImportedRow& row, int64_t group) {
    const ImportedCollective& is = names_.collectives.at(row.collective);
    ++counts_.rows;
    rows_.add(row::collective{.enter_ns = moved(kCollective, row.enter_ns),
                              .dur_ns = row.call_ns,
                              .thread_id = row.thread < 0 ? kNotThere : row.thread + 1,
                              .stream_id = row.stream < 0 ? kNotThere : row.stream + 1,
                              .api_id = is.api + 1,
                              .communicator_id = is.communicator < 0 ? kNotThere : is.communicator + 1,
                              .seq = instance(row),
                              .count = known(is.count),
                              .dtype = known(is.dtype),
                              .peer = known(is.peer),
                              .bytes = known(is.bytes),
                              .group_id = group,
                              .flags = 0});
}

int64_t TraceTables::instance(const ImportedRow& row) {
    const ImportedCollective& is = names_.collectives.at(row.collective);
    if (is.communicator < 0) return kNotThere;
    const bool is_between_two = is.sends >= 0 && is.peer >= 0;
    const int64_t next =
        counted_[{is.communicator, is_between_two ? is.peer : -1, is_between_two ? is.sends : -1}]++;
    return row.number != kNotThere ? row.number : next;
}

int64_t TraceTables::shape(const ImportedRow& row) {
    if (row.name < 0) return kNotThere;
    const auto [found, is_new] =
        shapes_.try_emplace({row.name, row.api}, static_cast<int64_t>(shapes_.size()) + 1);
    if (is_new) {
        const ImportedShape& is = names_.shapes.at(row.name);
        const int64_t api = (row.api < 0 ? names_.apis.count() : row.api) + 1;
        rows_.add(row::shape{.id = found->second,
                             .handle_id = function(is.name),
                             .api_id = api,
                             .grid_x = known(is.grid[0]),
                             .grid_y = known(is.grid[1]),
                             .grid_z = known(is.grid[2]),
                             .block_x = known(is.block[0]),
                             .block_y = known(is.block[1]),
                             .block_z = known(is.block[2]),
                             .shared_bytes = known(is.shared_bytes)});
    }
    return found->second;
}

int64_t TraceTables::function(int32_t name) {
    const auto [found, is_new] = functions_.try_emplace(name, 0);
    if (is_new) {
        found->second = ++handles_;
        rows_.add(row::handle{
            .id = found->second, .kind = "function", .handle = found->second, .name_id = name + 1});
    }
    return found->second;
}

ImportedCounts TraceTables::finish(const ImportedCounts& counts) {
    counts_.operations = counts.operations;
    counts_.without_call = counts.without_call;
    counts_.calls_without_operation = counts.calls_without_operation;
    write_texts();
    write_contexts();
    write_communicators();
    write_devices();
    write_windows();
    write_trace();
    write_meta();
    rows_.finish();
    return counts_;
}

}  // namespace gpushim::analysis
