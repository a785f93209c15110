#include "run_clocks.h"

#include <algorithm>
#include <numeric>

namespace gpushim::analysis {

namespace {

std::string boot_of(const Trace& trace) {
    if (trace.boot_id) return *trace.boot_id;
    Query query = trace.base.prepare("SELECT value FROM meta WHERE key = 'boot_id'");
    return query.step() ? query.text(0) : "";
}

SharedBarrier other_way_round(const SharedBarrier& one) {
    return {one.bytes,           one.b_last_start_ns, one.b_first_end_ns, one.b_last_end_ns,
            one.a_last_start_ns, one.a_first_end_ns,  one.a_last_end_ns};
}

}  // namespace

void RunClocks::add(const TraceFacts& facts) {
    const Trace& trace = *facts.trace;
    std::string key = boot_of(trace);
    if (key.empty()) key = trace.host;
    const bool is_named = !key.empty();
    if (!is_named) key = trace.path.string();
    const auto found = std::find(keys_.begin(), keys_.end(), key);
    clock_of_rank_[facts.rank_id] = static_cast<int>(found - keys_.begin());
    if (found != keys_.end()) return;
    keys_.push_back(key);
    named_.push_back(is_named);
    std::string label = trace.host.empty() ? trace.path.filename().string() : trace.host;
    if (std::find(labels_.begin(), labels_.end(), label) != labels_.end()) label += " " + key;
    labels_.push_back(label);
    known_.push_back({INT64_MAX, INT64_MIN});
}

void RunClocks::learn(const CollectiveInstance& instance, const std::vector<int>& clock_of_rank) {
    if (count() < 2) return;
    std::set<int> here;
    for (const RankPart& part : instance.parts)
        if (part.device) here.insert(clock_of_rank[static_cast<size_t>(part.rank)]);
    if (here.empty()) return;
    // All of them by the first: others follow by way of it.
    const int first = *here.begin();
    for (const int clock : here) {
        if (clock == first) continue;
        const auto barrier = shared_barrier(instance, clock_of_rank, first, clock);
        if (!barrier) continue;
        met_[{first, clock}].push_back(*barrier);
        const auto widen = [](Interval& known, int64_t from_ns, int64_t until_ns) {
            known = {std::min(known.start_ns, from_ns), std::max(known.end_ns, until_ns)};
        };
        widen(known_[static_cast<size_t>(first)], barrier->a_last_start_ns, barrier->a_first_end_ns);
        widen(known_[static_cast<size_t>(clock)], barrier->b_last_start_ns, barrier->b_first_end_ns);
    }
}

// Breadth first from the first clock: as few hosts in between as there can be.
void RunClocks::settle() {
    ways_.assign(count(), {});
    std::vector<int> reached;
    if (count() > 0) {
        ways_[0] = Way{0, HostOffset::same_host()};
        reached.push_back(0);
    }
    for (size_t i = 0; i < reached.size(); ++i)
        for (const auto& [pair, barriers] : met_) {
            const auto [a, b] = pair;
            if (a != reached[i] && b != reached[i]) continue;
            const int next = a == reached[i] ? b : a;
            if (ways_[static_cast<size_t>(next)]) continue;
            std::vector<SharedBarrier> seen;
            for (const SharedBarrier& one : barriers) seen.push_back(next == b ? one : other_way_round(one));
            ways_[static_cast<size_t>(next)] = Way{reached[i], HostOffset(seen)};
            reached.push_back(next);
        }
    met_.clear();
}

std::optional<ClockOffset> RunClocks::offset(int clock, int64_t at_ns) const {
    ClockOffset sum = {0, 0, 0};
    while (clock != 0) {
        const auto& way = ways_[static_cast<size_t>(clock)];
        const auto one = way ? way->offset.at(at_ns) : std::nullopt;
        if (!one) return {};
        sum = chained(sum, *one);
        at_ns += one->point_ns;
        clock = way->over;
    }
    return sum;
}

int64_t RunClocks::middle_ns(int clock) const {
    const Interval& known = known_[static_cast<size_t>(clock)];
    return known.start_ns > known.end_ns ? 0 : std::midpoint(known.start_ns, known.end_ns);
}

}  // namespace gpushim::analysis
