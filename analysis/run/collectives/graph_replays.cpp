#include "graph_replays.h"

#include <algorithm>

#include "../../../shim/schema/flags.h"
#include "comm_calls.h"

namespace gpushim::analysis {

namespace {

struct Exec {  // a graph that can be launched
    int64_t handle_id, born_ns;
    int64_t kernels;  // of NCCL; -1: not the same in all states of it
    int64_t captured = 0;
    int64_t launches = 0, launches_in_steps = 0;

    bool is_known() const { return captured > 0 && captured == kernels; }
};

std::vector<Exec> read_execs(const Database& base) {
    std::vector<Exec> execs;
    Query query = base.prepare(
        "SELECT handle_id, born_ns, min(kernels), max(kernels) FROM ("
        " SELECT g.id, g.handle_id, h.born_ns, sum(k.count) AS kernels FROM graph g"
        " JOIN handle h ON h.id = g.handle_id JOIN graph_kernel k ON k.graph_id = g.id"
        " JOIN v_handle f ON f.id = k.handle_id"
        " WHERE f.symbol LIKE '%nccl%' AND h.born_ns IS NOT NULL GROUP BY g.id, g.handle_id, h.born_ns)"
        " GROUP BY handle_id, born_ns ORDER BY born_ns");
    while (query.step())
        execs.push_back(
            {query.number(0), query.number(1), query.number(2) == query.number(3) ? query.number(2) : -1});
    return execs;
}

Exec* by_handle(std::vector<Exec>& execs, int64_t handle_id) {
    const auto found = std::find_if(execs.begin(), execs.end(),
                                    [&](const Exec& exec) { return exec.handle_id == handle_id; });
    return found == execs.end() ? nullptr : &*found;
}

Exec* born_behind(std::vector<Exec>& execs, int64_t enter_ns) {
    const auto found = std::upper_bound(execs.begin(), execs.end(), enter_ns,
                                        [](int64_t at_ns, const Exec& exec) { return at_ns < exec.born_ns; });
    return found == execs.end() ? nullptr : &*found;
}

// Totals have also the launches whose rows are gone.
void count_launches(const TraceFacts& facts, std::vector<Exec>& execs) {
    const Database& base = facts.trace->base;
    Query rows = base.prepare(
        "SELECT g.handle_id, l.enter_ns FROM graph_launch l JOIN graph g ON g.id = l.graph_id"
        " WHERE l.enter_ns >= ?1 AND " +
        kRan.sql("l"));
    rows.bind(1, facts.trace->from_ns);
    while (rows.step())
        if (Exec* exec = by_handle(execs, rows.number(0))) {
            ++exec->launches;
            exec->launches_in_steps += counts(facts, step_at(facts, rows.number(1)));
        }
    if (!base.has("rollup")) return;
    Query totals = base.prepare(
        "SELECT g.handle_id, sum(r.events) FROM rollup r JOIN series s ON s.id = r.series_id"
        " JOIN graph g ON g.id = s.graph_id WHERE s.kind = 'graph_launch' AND " +
        kRan.sql("s") + " GROUP BY g.handle_id");
    while (totals.step())
        if (Exec* exec = by_handle(execs, totals.number(0)))
            exec->launches = std::max(exec->launches, totals.number(1));
}

// When the first call of each captured group was made.
std::map<int64_t, int64_t> captured_groups(const std::vector<CommSeat>& seats) {
    std::map<int64_t, int64_t> enter_of_group;
    for (const CommSeat& seat : seats)
        for (const CommCall& call : seat.calls)
            if (call.captured) {
                const auto [found, is_new] = enter_of_group.try_emplace(call.call.group, call.enter_ns);
                found->second = std::min(found->second, call.enter_ns);
            }
    return enter_of_group;
}

}  // namespace

void count_replays(const TraceFacts& facts, const std::map<int64_t, int64_t>& kernels_of_group,
                   std::vector<CommSeat>& seats) {
    for (CommSeat& seat : seats)
        for (CommCall& call : seat.calls) call.call.replays = call.captured ? 0 : 1;
    const auto groups = captured_groups(seats);
    if (groups.empty() || !facts.trace->base.has("graph_kernel")) return;
    std::vector<Exec> execs = read_execs(facts.trace->base);
    for (const auto& [group, enter_ns] : groups) {
        const auto kernels = kernels_of_group.find(group);
        if (Exec* exec = born_behind(execs, enter_ns))
            exec->captured += kernels == kernels_of_group.end() ? 0 : kernels->second;
    }
    count_launches(facts, execs);
    for (CommSeat& seat : seats)
        for (CommCall& call : seat.calls) {
            const Exec* exec = call.captured ? born_behind(execs, groups.at(call.call.group)) : nullptr;
            if (exec == nullptr || !exec->is_known()) continue;
            call.call.replays = exec->launches;
            call.replays_in_steps = exec->launches_in_steps;
        }
}

}  // namespace gpushim::analysis
