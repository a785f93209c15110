#include "wait.h"

#include <algorithm>

namespace gpushim::analysis {

namespace {

bool has_transfer(const CollectiveInstance& instance) {
    const auto timed = [](const RankPart& part) { return part.device && part.device->length_ns() > 0; };
    return is_barrier_like(instance.op) && instance.complete() && !instance.aborted &&
           !instance.shares_kernel && std::all_of(instance.parts.begin(), instance.parts.end(), timed);
}

Interval aligned(const RankPart& part, std::span<const int64_t> offset_ns) {
    const int64_t offset = offset_ns[static_cast<size_t>(part.rank)];
    return {part.device->start_ns + offset, part.device->end_ns + offset};
}

struct Ends {
    int64_t first_start_ns = INT64_MAX, last_start_ns = INT64_MIN;
    int64_t first_end_ns = INT64_MAX, last_end_ns = INT64_MIN;
};
Ends ends_of(const CollectiveInstance& instance, std::span<const int64_t> offset_ns) {
    Ends ends;
    for (const RankPart& part : instance.parts) {
        const Interval span = aligned(part, offset_ns);
        ends.first_start_ns = std::min(ends.first_start_ns, span.start_ns);
        ends.last_start_ns = std::max(ends.last_start_ns, span.start_ns);
        ends.first_end_ns = std::min(ends.first_end_ns, span.end_ns);
        ends.last_end_ns = std::max(ends.last_end_ns, span.end_ns);
    }
    return ends;
}

// How long `waits` ran before `other` had begun. A sender that was done by then left its bytes in a buffer,
// and waited for nobody.
std::optional<int64_t> edge_wait_ns(const RankPart* waits, const RankPart* other,
                                    std::optional<std::span<const int64_t>> offset_ns, bool sends) {
    if (!offset_ns || !waits || !other || !waits->device || !other->device) return {};
    const Interval own = aligned(*waits, *offset_ns);
    const int64_t begins_ns = aligned(*other, *offset_ns).start_ns;
    if (sends && own.end_ns <= begins_ns) return 0;
    return std::max<int64_t>(0, std::min(own.end_ns, begins_ns) - own.start_ns);
}

const RankPart* part_of(const CollectiveInstance& instance, int rank) {
    const auto found = std::find_if(instance.parts.begin(), instance.parts.end(),
                                    [&](const RankPart& part) { return part.rank == rank; });
    return found == instance.parts.end() ? nullptr : &*found;
}

}  // namespace

int64_t CollectiveWait::wait_sum_ns() const {
    int64_t sum_ns = 0;
    for (const RankWait& rank : ranks) sum_ns += rank.wait_ns;
    return sum_ns;
}

int64_t CollectiveWait::longest_own_ns() const {
    int64_t longest_ns = 0;
    for (const RankWait& rank : ranks) longest_ns = std::max(longest_ns, rank.own_ns);
    return longest_ns;
}

std::optional<CollectiveWait> wait_in(const CollectiveInstance& instance) {
    if (!has_transfer(instance)) return {};
    CollectiveWait result = {INT64_MAX, TransferBy::shortest, {}};
    for (const RankPart& part : instance.parts)
        result.transfer_ns = std::min(result.transfer_ns, part.device->length_ns());
    for (const RankPart& part : instance.parts) {
        const int64_t own_ns = part.device->length_ns();
        result.ranks.push_back({part.rank, own_ns, own_ns - result.transfer_ns});
    }
    return result;
}

std::optional<CollectiveWait> aligned_wait_in(const CollectiveInstance& instance,
                                              std::span<const int64_t> offset_ns) {
    if (!has_transfer(instance)) return {};
    const Ends ends = ends_of(instance, offset_ns);
    if (ends.first_end_ns < ends.last_start_ns) return {};
    CollectiveWait result = {ends.last_end_ns - ends.last_start_ns, TransferBy::last_start, {}};
    for (const RankPart& part : instance.parts) {
        const int64_t wait_ns = ends.last_start_ns - aligned(part, offset_ns).start_ns;
        result.ranks.push_back({part.rank, part.device->length_ns(), wait_ns});
    }
    return result;
}

std::optional<int64_t> spread_ns(const CollectiveInstance& instance, std::span<const int64_t> offset_ns,
                                 int64_t clock_error_ns) {
    if (!has_transfer(instance)) return {};
    const Ends ends = ends_of(instance, offset_ns);
    const int64_t spread = ends.last_start_ns - ends.first_start_ns;
    return spread >= clock_error_ns ? std::optional(spread) : std::nullopt;
}

std::optional<int64_t> best_decile_ns(std::vector<int64_t> durations_ns) {
    if (durations_ns.empty()) return {};
    // By nearest rank: of fewer than eleven the shortest.
    const auto nth = static_cast<std::ptrdiff_t>((durations_ns.size() + 9) / 10 - 1);
    std::nth_element(durations_ns.begin(), durations_ns.begin() + nth, durations_ns.end());
    return durations_ns[static_cast<size_t>(nth)];
}

std::vector<WaitEdge> wait_edges(const CollectiveInstance& instance,
                                 std::optional<std::span<const int64_t>> offset_ns) {
    std::vector<WaitEdge> edges;
    const auto edge = [&](int waits, int for_rank, bool sends = false) {
        edges.push_back(
            {waits, for_rank,
             edge_wait_ns(part_of(instance, waits), part_of(instance, for_rank), offset_ns, sends)});
    };
    const WaitDirection direction = facts_of(instance.op).direction;
    if (direction == WaitDirection::pair && instance.root != instance.destination) {
        edge(instance.destination, instance.root);
        edge(instance.root, instance.destination, true);
    }
    if (direction != WaitDirection::from_root && direction != WaitDirection::to_root) return edges;
    for (const RankPart& part : instance.parts) {
        if (part.rank == instance.root) continue;
        if (direction == WaitDirection::from_root)
            edge(part.rank, instance.root);
        else
            edge(instance.root, part.rank);
    }
    return edges;
}

}  // namespace gpushim::analysis
