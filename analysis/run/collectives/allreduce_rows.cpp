// Bytes of a step against the model's parameters. Asked of one GPU: of its communicators the one that moves
// most of AllReduce, ReduceScatter and AllGather, and those that have as many ranks: gradients that are
// reduced twice may go over two of them.
#include <algorithm>
#include <set>
#include <string>

#include "../../collective/expected.h"
#include "../../to_int64.h"
#include "../sql/run_db.h"
#include "collective_run.h"

namespace gpushim::analysis {

namespace {

constexpr int64_t kTinyBytes = 256 << 10;
constexpr double kTrifle = 0.01;                                                // of the bytes
constexpr const char* kSync[] = {"none", "less", "once", "more", "redundant"};  // as ParameterSync

struct StatRow {
    std::string comm, op, dtype;
    int64_t bytes, ranks, in_steps, timed, transfer_sum_ns;
    std::optional<double> gb_per_s;
    ExpectedBy by;

    double volume() const { return static_cast<double>(bytes) * static_cast<double>(in_steps); }
};

bool is_of_parameters(const StatRow& row) {
    return row.op == "allreduce" || row.op == "reducescatter" || row.op == "allgather";
}

// What parameters are reduced by: where they are not sharded, what is gathered is something else.
bool reduces(const StatRow& row, bool sharded) {
    return sharded ? is_of_parameters(row) : row.op == "allreduce";
}

std::vector<StatRow> read_stats(const RunDb& run, const char* which) {
    std::vector<StatRow> rows;
    Query query(run.raw(), "run",
                std::string("SELECT comm, op, dtype, whole_bytes, ranks, in_steps, timed, transfer_sum_ns,"
                            " bandwidth_bytes_per_s, expected_by, hosts, between_bytes_per_s FROM"
                            " collective_stat WHERE whole_bytes IS NOT NULL AND ") +
                    which);
    while (query.step()) {
        const auto gb_per_s = [&](int column) { return query.real(column) / 1e9; };
        rows.push_back({query.text(0),
                        query.text(1),
                        query.text(2),
                        query.number(3),
                        query.number(4),
                        query.number(5),
                        query.number(6),
                        query.number(7),
                        query.is_null(8) ? std::nullopt : std::optional(gb_per_s(8)),
                        {expected_model(query.text(9)).value_or(ExpectedModel::ring), gb_per_s(8), 0,
                         query.number(10), gb_per_s(11)}});
    }
    return rows;
}

// rank_id and device; one that is not known comes last: it may be of calls that nobody saw.
std::pair<int64_t, int64_t> place_of(const CommSeat& seat) {
    return {seat.facts->rank_id, seat.device_id < 0 ? INT64_MAX : seat.device_id};
}

// Communicators of the first GPU that has one with others.
std::set<std::string> of_one_gpu(const CollectiveRun& all) {
    std::optional<std::pair<int64_t, int64_t>> gpu;
    for (const RunCommunicator& comm : all.communicators)
        for (const CommSeat& seat : comm.seats)
            if (comm.ranks > 1 && comm.is_known() && (!gpu || place_of(seat) < *gpu)) gpu = place_of(seat);
    std::set<std::string> comms;
    for (const RunCommunicator& comm : all.communicators)
        for (const CommSeat& seat : comm.seats)
            if (gpu == place_of(seat)) comms.insert(comm.uid);
    return comms;
}

// Those rows that the check is about.
std::vector<StatRow> chosen(std::vector<StatRow> rows, const std::set<std::string>& comms) {
    std::erase_if(rows, [&](const StatRow& row) { return !comms.contains(row.comm); });
    std::map<std::string, double> moved;
    for (const StatRow& row : rows)
        if (is_of_parameters(row)) moved[row.comm] += row.volume();
    const auto most = std::max_element(moved.begin(), moved.end(),
                                       [](const auto& a, const auto& b) { return a.second < b.second; });
    if (most == moved.end()) return {};
    int64_t ranks = 0;
    for (const StatRow& row : rows)
        if (row.comm == most->first) ranks = std::max(ranks, row.ranks);
    std::erase_if(rows, [&](const StatRow& row) { return row.ranks != ranks; });
    return rows;
}

// Of one trace, too, that says what it reduced and not with whom: all of it. Of several nobody knows whose
// calls are one; and what is scattered and gathered is as large as there are ranks.
std::vector<StatRow> rows_of(const CollectiveRun& all, const RunDb& run) {
    std::vector<StatRow> rows = chosen(read_stats(run, "ranks > 1"), of_one_gpu(all));
    if (!rows.empty() || all.traces.size() > 1) return rows;
    Query scattered(run.raw(), "run", "SELECT 1 FROM collective_stat WHERE op = 'reducescatter' LIMIT 1");
    return scattered.step() ? rows : read_stats(run, "ranks IS NULL AND op = 'allreduce'");
}

int64_t counted_steps(const CollectiveRun& all) {
    const TraceFacts& facts = *all.traces.front();
    int64_t count = 0;
    for (size_t i = 0; !facts.are_slices && i < facts.steps.size(); ++i)
        count += counts(facts, static_cast<int32_t>(i));
    return count;
}

double volume_of(const std::vector<StatRow>& rows, std::string_view op) {
    double sum = 0;
    for (const StatRow& row : rows) sum += row.op == op ? row.volume() : 0;
    return sum;
}

StepVolume volume_in(const std::vector<StatRow>& rows, int64_t steps) {
    const auto per_step = [&](std::string_view op) {
        return volume_of(rows, op) / static_cast<double>(steps);
    };
    return {per_step("allreduce"), per_step("reducescatter"), per_step("allgather")};
}

// Of the type that most bytes of that operation are of; there are master copies and losses of other types.
int64_t bytes_per_parameter(const std::vector<StatRow>& rows) {
    const std::string_view op = facts_of(volume_in(rows, 1).of_gradients()).word;
    std::map<std::string, double> moved;
    for (const StatRow& row : rows)
        if (row.op == op) moved[row.dtype] += row.volume();
    const auto most = std::max_element(moved.begin(), moved.end(),
                                       [](const auto& a, const auto& b) { return a.second < b.second; });
    for (int dtype = 0; most != moved.end() && dtype_bytes(dtype) > 0; ++dtype)
        if (dtype_name(dtype) == most->first) return dtype_bytes(dtype);
    return 0;
}

// Of two levels, if the AllReduces that move most are; else by a ring.
int64_t expected_step_ns(const std::vector<StatRow>& rows, double wire_bytes, double gb_per_s) {
    const StatRow* most = nullptr;
    for (const StatRow& row : rows)
        if (row.op == "allreduce" && (most == nullptr || row.volume() > most->volume())) most = &row;
    if (most == nullptr || most->by.model != ExpectedModel::two_level) return to_int64(wire_bytes / gb_per_s);
    const double bytes = wire_bytes / bus_factor(CollectiveOp::all_reduce, most->ranks);
    return expected_ns(CollectiveOp::all_reduce, to_int64(bytes), most->ranks, most->by);
}

// What those that could not be timed took is taken from those alike. None: of some nothing is known, and they
// are no trifle.
std::optional<double> measured_ns(const std::vector<StatRow>& rows, bool sharded, double bytes) {
    double sum_ns = 0;
    for (const StatRow& row : rows) {
        if (!reduces(row, sharded) || row.in_steps == 0) continue;
        if (row.timed == 0 && row.volume() < kTrifle * bytes) continue;
        if (row.timed == 0) return {};
        sum_ns += static_cast<double>(row.transfer_sum_ns) / static_cast<double>(row.timed) *
                  static_cast<double>(row.in_steps);
    }
    return sum_ns;
}

bool has_unknown_replays(const RunDb& run, const std::vector<StatRow>& rows) {
    Query query(run.raw(), "run",
                "SELECT DISTINCT comm FROM collective_instance WHERE captured = 1 AND replays IS NULL");
    while (query.step())
        for (const StatRow& row : rows)
            if (row.comm == query.text(0)) return true;
    return false;
}

void write_nothing(const std::optional<int64_t>& params, const char* why, RunDb& run) {
    run.add("allreduce_check", {maybe(params), nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr,
                                nullptr, nullptr, std::string(why)});
}

void write_check(const std::vector<StatRow>& rows, int64_t steps, const std::optional<int64_t>& params,
                 RunDb& run) {
    const auto per_step = [&](double sum) { return sum / static_cast<double>(steps); };
    const bool sharded = volume_in(rows, steps).is_sharded();
    double calls = 0, tiny = 0, bytes = 0;
    std::optional<double> gb_per_s;
    for (const StatRow& row : rows) {
        if (row.bytes < kTinyBytes) tiny += static_cast<double>(row.in_steps);
        if (!reduces(row, sharded)) continue;
        calls += static_cast<double>(row.in_steps);
        bytes += row.volume();
        if (!gb_per_s) gb_per_s = row.gb_per_s;
    }
    const ParameterCheck check =
        check_parameters(volume_in(rows, steps), params, bytes_per_parameter(rows), rows.front().ranks);
    const double wire_bytes = check.expected_wire_bytes.value_or(check.wire_bytes);
    const auto measured = measured_ns(rows, sharded, bytes);
    std::string why;
    if (rows.front().ranks == 0)
        why = "with how many ranks is not recorded, so neither is what to expect";
    else if (!gb_per_s)
        why =
            "the bandwidth is not known: no message of 32 MiB was timed, and there is no topology; give "
            "--bandwidth";
    if (!measured) why += std::string(why.empty() ? "" : "; ") + "not all of them were timed";
    run.add("allreduce_check",
            {maybe(params), check.implied_parameters, int64_t{check.sharded}, per_step(bytes),
             per_step(calls), maybe(check.ratio),
             check.sync ? Value(std::string(kSync[static_cast<size_t>(*check.sync)])) : Value(nullptr),
             gb_per_s && rows.front().ranks > 0 ? Value(expected_step_ns(rows, wire_bytes, *gb_per_s))
                                                : Value(nullptr),
             measured ? Value(to_int64(per_step(*measured))) : Value(nullptr), per_step(tiny),
             why.empty() ? Value(nullptr) : Value(why)});
}

// Of those that only the names of their kernels tell of.
bool are_bytes_unknown(const RunDb& run) {
    Query row(run.raw(), "run",
              "SELECT 1 FROM collective_stat WHERE bytes IS NULL AND whole_bytes IS NULL LIMIT 1");
    return row.step();
}

}  // namespace

void write_allreduce_check(const CollectiveRun& all, RunDb& run) {
    if (all.traces.empty()) return;
    const std::optional<int64_t> params = all.traces.front()->options.params;
    const std::vector<StatRow> rows = rows_of(all, run);
    const int64_t steps = counted_steps(all);
    if (rows.empty())
        write_nothing(params,
                      are_bytes_unknown(run) ? "how much collectives moved is not recorded"
                                             : "nothing was reduced or gathered between ranks",
                      run);
    else if (steps == 0)
        write_nothing(params, "no steps were found", run);
    else if (has_unknown_replays(run, rows))
        write_nothing(params, "calls were captured into graphs, and it is not known how often the graphs ran",
                      run);
    else if (bytes_per_parameter(rows) == 0)
        write_nothing(params, "the type that was reduced is not known", run);
    else
        write_check(rows, steps, params, run);
}

}  // namespace gpushim::analysis
