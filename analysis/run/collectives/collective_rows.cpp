// Rows of single instances: what each rank did in each of them, and what ranks did not agree on.
#include <algorithm>
#include <string>

#include "../../../shim/schema/flags.h"
#include "../sql/run_db.h"
#include "collective_run.h"

namespace gpushim::analysis {

namespace {

using Kind = CollectiveMismatch::Kind;

constexpr const char* kTransferBy[] = {"shortest", "last_start"};                    // as TransferBy
constexpr const char* kMismatch[] = {"op", "bytes", "root", "grouping", "replays"};  // as Kind

PlainValue or_null(bool known, int64_t value) { return known ? PlainValue(value) : PlainValue(nullptr); }
Value text(std::string_view words) { return std::string(words); }

PlainValue stream_of(const CommSeat& seat, const CommCall& call) {
    if (call.lane == kNoLane) return nullptr;
    return seat.facts->lanes[static_cast<size_t>(call.lane)].stream_id;
}

// Replays are somewhere in later steps.
PlainValue step_of(const CommCall& call) {
    return or_null(!call.captured && call.step != kNoStep, call.step);
}

void add(const RunCommunicator& comm, const CollectiveInstance& instance, const InstanceTimes& times,
         CollectiveSums& sums) {
    const auto parts = static_cast<int64_t>(instance.parts.size());
    const bool are_missing = parts < instance.ranks;
    for (size_t i = 0; i < instance.parts.size(); ++i) {
        const RankPart& part = instance.parts[i];
        if (!part.device) continue;
        const auto own_ns = static_cast<double>(part.device->length_ns());
        CollectiveSum& sum = sums[comm.seat(part).facts->rank_id];
        const bool is_message = instance.op == CollectiveOp::send && !times.wait_ns[i];
        sum.own_ns += own_ns;
        if (!comm.is_known() || are_missing || is_message) sum.unknown_ns += own_ns;
        sum.messages |= comm.is_known() && is_message && !are_missing;
        if (!comm.is_known() || !are_missing) continue;
        sum.ranks = std::max(sum.ranks, std::optional<int64_t>(instance.ranks));
        sum.parts = std::max(sum.parts, std::optional(parts));
    }
}

void write_instance(const RunCommunicator& comm, const CollectiveInstance& instance,
                    const InstanceTimes& times, int64_t id, ManyRows& rows) {
    for (size_t i = 0; i < instance.parts.size(); ++i) {
        const RankPart& part = instance.parts[i];
        const CommSeat& seat = comm.seat(part);
        const CommCall& call = comm.call(part);
        const Gpu* gpu = seat.gpu();
        const std::string dtype = dtype_name(call.dtype);
        rows.add(
            {id,
             seat.facts->rank_id,
             comm.is_known() ? PlainValue(comm.uid) : PlainValue(nullptr),
             instance.sequence,
             facts_of(instance.op).word,
             call.dtype >= 0 ? PlainValue(dtype) : PlainValue(nullptr),
             or_null(seat.has_place, part.rank),
             step_of(call),
             instance.calls,
             int64_t{call.captured},
             or_null(call.call.replays != 0 || !call.captured, call.call.replays),
             or_null(instance.bytes >= 0, instance.bytes),
             or_null(instance.bytes >= 0, instance.whole_bytes),
             or_null(comm.is_known(), instance.ranks),
             static_cast<int64_t>(instance.parts.size()),
             or_null(part.device.has_value(), part.device ? part.device->start_ns : 0),
             or_null(part.device.has_value(), part.device ? part.device->length_ns() : 0),
             plain(times.wait_ns[i]),
             plain(times.transfer_ns),
             times.transfer_ns ? PlainValue(kTransferBy[static_cast<size_t>(times.by)]) : PlainValue(nullptr),
             or_null(gpu != nullptr, gpu != nullptr ? gpu->gpu_id : 0),
             stream_of(seat, call),
             int64_t{!comm.is_known()}});
    }
}

void write_mismatch(const RunCommunicator& comm, const CollectiveMismatch& one, RunDb& run) {
    const bool by_word = one.kind == Kind::op;
    run.add("collective_mismatch",
            {comm.uid, one.sequence, text(kMismatch[static_cast<size_t>(one.kind)]), int64_t{one.rank},
             int64_t{one.other_rank}, by_word ? text(facts_of(one.op).word) : text(std::to_string(one.value)),
             by_word ? text(facts_of(one.other_op).word) : text(std::to_string(one.other_value))});
}

// Rows of shape whose kernels are somebody's own collectives.
std::string custom_shapes(const TraceFacts& facts) {
    std::string ids;
    facts.shapes.each([&](int64_t id, const Shape&) {
        const Kernel* kernel = facts.kernel_of_shape(id);
        if (kernel != nullptr && kernel->facts.comm_source == CommSource::custom)
            ids += (ids.empty() ? "" : ",") + std::to_string(id);
    });
    return ids;
}

std::string word_of(CommOperation operation) {
    std::string word(name_of(operation));
    std::erase(word, '_');
    return word;
}

const Lane* lane_of(const TraceFacts& facts, std::optional<int64_t> stream_id) {
    for (const Lane& lane : facts.lanes)
        if (stream_id && lane.stream_id == *stream_id) return &lane;
    return nullptr;
}

PlainValue gpu_of(const TraceFacts& facts, const Lane* lane) {
    for (const Gpu& gpu : facts.gpus)
        if (lane != nullptr && gpu.device_id == lane->device_id) return gpu.gpu_id;
    return nullptr;
}

// Nobody says what they moved or with whom: they are not matched, and have no transfer or wait.
int64_t write_custom_of(const TraceFacts& facts, int64_t id, ManyRows& rows, CollectiveSums& sums) {
    const std::string shapes = custom_shapes(facts);
    if (shapes.empty()) return id;
    const bool timed = facts.trace->base.has("launch_device");
    Query query = facts.trace->base.prepare(
        std::string("SELECT l.enter_ns, l.stream_id, l.shape_id, ") +
        (timed ? "d.start_offset_ns, d.dur_ns FROM launch l LEFT JOIN launch_device d USING (enter_ns)"
               : "NULL, NULL FROM launch l") +
        " WHERE " + kRan.sql("l") + " AND l.group_id IS NULL AND l.shape_id IN (" + shapes +
        ") ORDER BY l.enter_ns");
    for (int64_t number = 1; query.step(); ++number) {
        const Lane* lane = lane_of(facts, query.maybe(1));
        const CommOperation operation = facts.kernel_of_shape(query.number(2))->facts.comm_operation;
        const int32_t step = step_at(facts, query.number(0));
        const bool ran = !query.is_null(3) && query.number(4) > 0;
        if (ran) {
            sums[facts.rank_id].own_ns += static_cast<double>(query.number(4));
            sums[facts.rank_id].unknown_ns += static_cast<double>(query.number(4));
        }
        rows.add({id++,
                  facts.rank_id,
                  nullptr,
                  number,
                  word_of(operation),
                  nullptr,
                  nullptr,
                  or_null(step != kNoStep, step),
                  int64_t{1},
                  int64_t{0},
                  int64_t{1},
                  nullptr,
                  nullptr,
                  nullptr,
                  int64_t{1},
                  or_null(ran, query.number(0) + query.number(3)),
                  or_null(ran, query.number(4)),
                  nullptr,
                  nullptr,
                  nullptr,
                  gpu_of(facts, lane),
                  lane != nullptr ? PlainValue(lane->stream_id) : PlainValue(nullptr),
                  int64_t{1}});
    }
    return id;
}

}  // namespace

void write_instances(const CollectiveRun& all, RunDb& run, CollectiveSums& sums) {
    int64_t id = 0;
    ManyRows rows(run, "collective_instance");
    for (const RunCommunicator& comm : all.communicators) {
        const auto error_ns = clock_error_ns(comm, all.clocks);
        for (const CollectiveInstance& instance : comm.instances) {
            const InstanceTimes times = times_of(comm, instance, all.clocks, error_ns);
            write_instance(comm, instance, times, id++, rows);
            add(comm, instance, times, sums);
        }
        for (const CollectiveMismatch& one : comm.mismatches) write_mismatch(comm, one, run);
    }
    rows.end();
}

void write_custom(const CollectiveRun& all, RunDb& run, CollectiveSums& sums) {
    Query next(run.raw(), "run", "SELECT coalesce(max(instance) + 1, 0) FROM collective_instance");
    int64_t id = next.step() ? next.number(0) : 0;
    ManyRows rows(run, "collective_instance");
    for (const TraceFacts* facts : all.traces) id = write_custom_of(*facts, id, rows, sums);
    rows.end();
}

void write_sums(const CollectiveSums& sums, RunDb& run) {
    for (const auto& [rank_id, sum] : sums)
        run.add("collective_sum", {rank_id, sum.own_ns, sum.unknown_ns, int64_t{sum.messages},
                                   maybe(sum.ranks), maybe(sum.parts)});
}

}  // namespace gpushim::analysis
