#include "comm_calls.h"

#include <algorithm>
#include <array>
#include <map>

#include "../../../shim/schema/flags.h"
#include "../../sqlite/number_rows.h"
#include "../../trace/by_number.h"
#include "comm_kernels.h"
#include "graph_replays.h"

namespace gpushim::analysis {

namespace {

constexpr int kMostRanks = 1 << 17;  // more are no communicator but a damaged row

struct Dtype {
    const char* name;
    int64_t bytes;
};
constexpr std::array<Dtype, 12> kDtypes = {{{"int8", 1},
                                            {"uint8", 1},
                                            {"int32", 4},
                                            {"uint32", 4},
                                            {"int64", 8},
                                            {"uint64", 8},
                                            {"float16", 2},
                                            {"float32", 4},
                                            {"float64", 8},
                                            {"bfloat16", 2},
                                            {"float8e4m3", 1},
                                            {"float8e5m2", 1}}};

bool is_dtype(int dtype) { return dtype >= 0 && static_cast<size_t>(dtype) < kDtypes.size(); }

struct Aborts {
    std::map<int64_t, int64_t> by_communicator;  // row: when it was

    explicit Aborts(const Trace& trace) {
        Query query = trace.base.prepare(
            "SELECT c.id, min(k.enter_ns) FROM communicator c JOIN call k ON k.target_id = c.handle_id"
            " WHERE k.api_id IN (SELECT id FROM api WHERE base = 'ncclCommAbort') AND k.enter_ns >= ?1"
            " GROUP BY c.id");
        query.bind(1, trace.from_ns);
        while (query.step()) by_communicator[query.number(0)] = query.number(1);
    }
    bool ended(int64_t communicator, const std::optional<Interval>& device) const {
        const auto found = by_communicator.find(communicator);
        return found != by_communicator.end() && (!device || device->end_ns > found->second);
    }
};

// The row of calls that tell no communicator, none whose size is known, or no number on it.
constexpr int64_t kNowhere = -1;

// Of a communicator that has others, whether they are known or not.
CommSeat seat_alone(const TraceFacts& facts, std::string uid, int64_t ranks) {
    if (!uid.empty()) uid += " of trace " + std::to_string(facts.rank_id);
    return {&facts, std::move(uid), "", 0, static_cast<int>(std::max<int64_t>(2, ranks)), -1, false, {}, {}};
}

std::vector<CommSeat> seats_without_calls(const TraceFacts& facts, std::map<int64_t, size_t>& seat_of_row) {
    std::vector<CommSeat> seats;
    std::map<std::pair<std::string, int64_t>, size_t> seen;
    Query query = facts.trace->base.prepare(
        "SELECT c.id, c.uid, coalesce(c.rank, -1), c.ranks, c.device_id, p.uid"
        " FROM communicator c LEFT JOIN communicator p ON p.id = c.parent_id"
        " WHERE c.ranks BETWEEN 1 AND " +
        std::to_string(kMostRanks) + " ORDER BY c.id");
    while (query.step()) {
        const int64_t rank = query.number(2), ranks = query.number(3);
        const bool has_place = rank >= 0 && rank < ranks;
        const auto [place, is_new] =
            seen.try_emplace({query.text(1), has_place ? rank : kNowhere}, seats.size());
        seat_of_row[query.number(0)] = place->second;
        if (!is_new) continue;
        seats.push_back(seat_alone(facts, query.text(1), ranks));
        CommSeat& seat = seats.back();
        seat.device_id = query.maybe(4).value_or(-1);
        if (has_place) {
            seat.uid = query.text(1);
            seat.parent = query.text(5);
            seat.rank = static_cast<int>(rank);
            seat.ranks = static_cast<int>(ranks);
            seat.has_place = true;
        }
    }
    seat_of_row[kNowhere] = seats.size();
    seats.push_back(seat_alone(facts, "", 0));
    return seats;
}

std::map<int64_t, int32_t> lanes_by_stream(const TraceFacts& facts) {
    std::map<int64_t, int32_t> lanes;
    for (size_t i = 0; i < facts.lanes.size(); ++i) lanes[facts.lanes[i].stream_id] = static_cast<int32_t>(i);
    return lanes;
}

ByNumber<CollectiveOp> operations_of(const Database& base) {
    ByNumber<CollectiveOp> operations;
    Query apis = base.prepare("SELECT id, base FROM api");
    while (apis.step())
        operations[apis.number(0)] = operation_of(apis.text(1)).value_or(CollectiveOp::unnamed);
    return operations;
}

// Each call's communicator row stands in `tag` until the kernels are linked.
void read_calls(const TraceFacts& facts, const std::map<int64_t, size_t>& seat_of_row,
                std::vector<CommSeat>& seats) {
    enum Column : size_t { kApi, kRow, kSeq, kBytes, kGroup, kPeer, kType, kStream, kFlags, kDur };
    const auto lanes = lanes_by_stream(facts);
    const ByNumber<CollectiveOp> operations = operations_of(facts.trace->base);
    int64_t no_group = 0;  // such a call is alone
    NumberRows rows(facts.trace->base, "collective", "enter_ns",
                    {"api_id", "communicator_id", "seq", "bytes", "group_id", "peer", "dtype", "stream_id",
                     "flags", "dur_ns"},
                    facts.trace->from_ns);
    for (NumberRow one; rows.next(one);) {
        const CollectiveOp* op = one.is_null(kApi) ? nullptr : operations.find(one.number(kApi));
        if (op == nullptr || one.is_null(kFlags) || (one.number(kFlags) & kRowFailed) != 0) continue;
        int64_t row = one.is_null(kSeq) ? kNowhere : one.number_or(kRow, kNowhere);
        if (!seat_of_row.contains(row)) row = kNowhere;
        CommSeat& seat = seats[seat_of_row.at(row)];
        CommCall call = {};
        call.call.op = *op;
        call.call.sequence = row == kNowhere ? static_cast<int64_t>(seat.calls.size()) + 1 : one.number(kSeq);
        call.call.bytes = one.number_or(kBytes, kUnknownBytes);
        call.call.group = one.is_null(kGroup) ? --no_group : one.number(kGroup);
        call.call.peer = static_cast<int>(one.number_or(kPeer, -1));
        call.call.aborted = (one.number(kFlags) & kRowUnfinished) != 0;
        call.call.tag = row;
        call.enter_ns = one.key;
        const bool is_told = facts.called.empty() || !one.is_null(kDur);  // else it stands where it ran
        call.step = is_told ? step_at(facts, call.enter_ns) : kNoStep;
        const auto lane = lanes.find(one.number_or(kStream, -1));
        call.lane = lane == lanes.end() ? kNoLane : lane->second;
        call.dtype = static_cast<int16_t>(one.number_or(kType, -1));
        call.captured = (one.number(kFlags) & kRowCaptured) != 0;
        seat.calls.push_back(call);
    }
}

// -1: they are of several, or it is not known.
int64_t device_of_streams(const CommSeat& seat) {
    int64_t device_id = -1;
    for (const CommCall& call : seat.calls) {
        if (call.lane == kNoLane) continue;
        const int64_t here = seat.facts->lanes[static_cast<size_t>(call.lane)].device_id;
        if (device_id >= 0 && here != device_id) return -1;
        device_id = here;
    }
    return device_id;
}

}  // namespace

const Gpu* CommSeat::gpu() const {
    for (const Gpu& gpu : facts->gpus)
        if (gpu.device_id == device_id) return &gpu;
    return nullptr;
}

std::vector<CommSeat> read_comm_seats(const TraceFacts& facts) {
    std::map<int64_t, size_t> seat_of_row;
    std::vector<CommSeat> seats = seats_without_calls(facts, seat_of_row);
    read_calls(facts, seat_of_row, seats);
    std::erase_if(seats, [](const CommSeat& seat) { return seat.uid.empty() && seat.calls.empty(); });
    for (CommSeat& seat : seats)
        if (seat.device_id < 0) seat.device_id = device_of_streams(seat);
    const std::map<int64_t, int64_t> captured = link_kernels(facts, seats);
    count_replays(facts, captured, seats);
    const Aborts aborts(*facts.trace);
    for (CommSeat& seat : seats)
        for (size_t i = 0; i < seat.calls.size(); ++i) {
            CollectiveCall& call = seat.calls[i].call;
            call.aborted |= !seat.calls[i].captured && aborts.ended(call.tag, call.device);
            call.tag = static_cast<int64_t>(i);
        }
    return seats;
}

int32_t step_at(const TraceFacts& facts, int64_t enter_ns) {
    size_t step = 0;  // the first one that was called later
    for (size_t behind = facts.steps.size(); step < behind;) {
        const size_t middle = step + (behind - step) / 2;
        if (facts.called_in(middle).start_ns <= enter_ns)
            step = middle + 1;
        else
            behind = middle;
    }
    if (step == 0 || enter_ns >= facts.called_in(step - 1).end_ns) return kNoStep;
    return static_cast<int32_t>(step - 1);
}

bool counts(const TraceFacts& facts, int32_t step) {
    if (step < 0 || static_cast<size_t>(step) >= facts.steps.size()) return false;
    const Step& one = facts.steps[static_cast<size_t>(step)];
    return !one.is_warm_up && !one.is_left_out;
}

std::string dtype_name(int dtype) {
    return is_dtype(dtype) ? kDtypes[static_cast<size_t>(dtype)].name : "type " + std::to_string(dtype);
}

int64_t dtype_bytes(int dtype) { return is_dtype(dtype) ? kDtypes[static_cast<size_t>(dtype)].bytes : 0; }

}  // namespace gpushim::analysis
