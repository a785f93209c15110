#include "exchanges.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

namespace gpushim::analysis {

namespace {

using Group = std::span<CommCall>;

bool is_message(const CommCall& call) { return is_point_to_point(call.call.op); }

std::vector<Group> groups_of(CommSeat& seat) {
    std::vector<Group> groups;
    for (size_t from = 0; from < seat.calls.size();) {
        size_t end = from + 1;
        while (end < seat.calls.size() && seat.calls[end].call.group == seat.calls[from].call.group) ++end;
        groups.push_back(Group(seat.calls).subspan(from, end - from));
        from = end;
    }
    return groups;
}

// One message to each rank and one from each, all of one number between their two ranks. Of two ranks only
// with those to themselves: else they may be neighbours of a grid, or stages of a pipeline.
bool is_exchange(const Group& group, int rank, int ranks) {
    std::set<int> to, from;
    for (const CommCall& call : group) {
        const bool is_new = (call.call.op == CollectiveOp::send ? to : from).insert(call.call.peer).second;
        if (!is_message(call) || !is_new || call.call.sequence != group.front().call.sequence) return false;
    }
    const size_t others = static_cast<size_t>(ranks) - 1;
    const bool sends_to_itself = to.contains(rank);
    return to == from && to.size() == others + sends_to_itself && (others > 1 || sends_to_itself);
}

struct Exchanges {
    struct Size {
        int64_t bytes;        // of a message
        bool is_even = true;  // all are as large
    };
    std::vector<Group> groups;
    std::map<int64_t, Size> sizes;  // by number

    // False: there is another message.
    bool add(const Group& group, int rank, int ranks) {
        if (std::none_of(group.begin(), group.end(), is_message)) return true;
        if (!is_exchange(group, rank, ranks)) return false;
        for (const CommCall& call : group) {
            Size& size = sizes.try_emplace(call.call.sequence, Size{call.call.bytes}).first->second;
            size.is_even &= size.bytes == call.call.bytes;
        }
        groups.push_back(group);
        return true;
    }
};

// Its bytes are those of one message: one rank's part, as of AlltoAll itself.
void join(const Group& group, bool is_even) {
    CollectiveCall& first = group.front().call;
    first.op = CollectiveOp::all_to_all;
    first.peer = -1;
    first.of_messages = true;
    if (!is_even) first.bytes = kUnknownBytes;
    for (CommCall& call : group.subspan(1)) {
        call.is_joined = true;
        first.aborted |= call.call.aborted;
        first.replays = std::min(first.replays, call.call.replays);
    }
}

// Which collective each all-to-all comes behind, and which all-to-all each collective, by their numbers.
struct Order {
    std::map<int64_t, int64_t> before_exchange, before_collective;

    // False: another rank told otherwise.
    bool add(const CommSeat& seat) {
        std::optional<int64_t> collective, exchange;  // the last ones; first: what came before the first
        for (const CommCall& one : seat.calls) {
            if (one.is_joined) continue;
            auto& own = one.call.of_messages ? exchange : collective;
            if (!own) own = one.call.sequence - 1;
        }
        bool is_same = true;
        for (const CommCall& one : seat.calls) {
            if (one.is_joined) continue;
            const int64_t number = one.call.sequence;
            const int64_t other = (one.call.of_messages ? collective : exchange).value_or(0);
            auto& known = one.call.of_messages ? before_exchange : before_collective;
            is_same &= known.try_emplace(number, other).first->second == other;
            (one.call.of_messages ? exchange : collective) = number;
        }
        return is_same;
    }
};

// Messages and collectives are counted apart. Ranks that call both in one order meet in one row of them: what
// lies between an all-to-all and the AllReduce behind it is a rank's own work, too.
//
//   calls   AllReduce 1   all-to-all 1   all-to-all 2   AllReduce 2
//   places            1              2              3             4
void number_together(RunCommunicator& comm, Aside& aside) {
    Order order;
    for (const CommSeat& seat : comm.seats) {
        aside.count_read(seat.calls.size() * sizeof(CommCall));
        if (!order.add(seat)) return;
    }
    for (CommSeat& seat : comm.seats) {
        aside.count_read(seat.calls.size() * sizeof(CommCall));
        for (CommCall& one : seat.calls) {
            const auto& before = one.call.of_messages ? order.before_exchange : order.before_collective;
            if (!one.is_joined) one.call.place = one.call.sequence + before.at(one.call.sequence);
        }
    }
}

}  // namespace

void join_exchanges(RunCommunicator& comm, Aside& aside) {
    if (!comm.all_seen() || !comm.is_known()) return;
    Exchanges found;
    for (CommSeat& seat : comm.seats) {
        aside.count_read(seat.calls.size() * sizeof(CommCall));
        for (const Group& group : groups_of(seat))
            if (!found.add(group, seat.rank, comm.ranks)) return;
    }
    for (const Group& group : found.groups) join(group, found.sizes.at(group.front().call.sequence).is_even);
    if (!found.groups.empty()) number_together(comm, aside);
}

}  // namespace gpushim::analysis
