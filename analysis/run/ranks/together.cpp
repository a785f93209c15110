// Ranks under each other in one step, on one clock: which step, which ranks, and their calls in it.
//
//   rank 0   ───────|17─────────|18──        the same step of both, by the collectives called in it;
//   rank 1   ────|16──────────|17───         of a rank that met nobody the one of that time
#include <algorithm>
#include <map>
#include <numeric>
#include <string>
#include <vector>

#include "../../trace/plausible.h"
#include "../collectives/collective_run.h"
#include "../parts/kept_part.h"
#include "../parts/kept_writer.h"
#include "../sql/run_db.h"
#include "rank_rows.h"

namespace gpushim::analysis {

namespace {

constexpr size_t kMostRanks = 8;  // that are drawn

struct OfRank {
    const TraceFacts* facts;
    StepShift shift;
    std::vector<bool> timed = {};  // by step: as a whole
};

struct Member {
    const OfRank* rank;
    size_t step;
    std::optional<int64_t> own_work_ns = {};
    bool is_straggler = false;
    int64_t offset_ns = 0;
    const char* clock = "same";
    std::optional<int64_t> clock_error_ns = {};

    const Step& is() const { return rank->facts->steps[step]; }
    int64_t work_ns() const { return own_work_ns.value_or(is().length_ns()); }
    Interval span() const { return {is().begin_ns + offset_ns, is().end_ns + offset_ns}; }
};

bool have_steps(const CollectiveRun& all) {
    return std::any_of(all.traces.begin(), all.traces.end(), [](const TraceFacts* facts) {
        return !facts->are_slices && !facts->steps.empty() && !facts->gpus.empty();
    });
}

bool is_of(const TraceFacts& facts, int64_t gpu_id) {
    return std::any_of(facts.gpus.begin(), facts.gpus.end(),
                       [&](const Gpu& gpu) { return gpu.gpu_id == gpu_id; });
}

void note_timed(const WrittenGpu& gpu, std::vector<bool>& timed) {
    for (const WrittenGpu::InStep& row : gpu.steps)
        if (row.step >= 0 && static_cast<size_t>(row.step) < timed.size())
            timed[static_cast<size_t>(row.step)] = true;
}

// With steps; or, of a run in which no rank has any, with slices, which only their time makes one.
std::vector<OfRank> ranks_of(const CollectiveRun& all, const RunDb& run) {
    const bool of_slices = !have_steps(all);
    std::vector<OfRank> ranks;
    for (size_t i = 0; i < all.traces.size(); ++i) {
        const TraceFacts& facts = *all.traces[i];
        if (facts.are_slices != of_slices || facts.steps.empty() || facts.gpus.empty()) continue;
        ranks.push_back({&facts, of_slices ? StepShift{0, false} : all.step_shifts[i],
                         std::vector<bool>(facts.steps.size())});
        for (const WrittenGpu& gpu : run.written().gpus)
            if (is_of(facts, gpu.gpu_id)) note_timed(gpu, ranks.back().timed);
    }
    return ranks;
}

bool counts(const OfRank& rank, int64_t step) {
    if (step < 0 || step >= static_cast<int64_t>(rank.facts->steps.size())) return false;
    const Step& is = rank.facts->steps[static_cast<size_t>(step)];
    return !is.is_warm_up && !is.is_left_out;
}

// Those whose collectives say which of their steps is which of the first one's, and the first.
std::vector<const OfRank*> matched(const std::vector<OfRank>& ranks) {
    std::vector<const OfRank*> found = {&ranks.front()};
    for (const OfRank& rank : ranks)
        if (&rank != found.front() && rank.shift.is_told && found.front()->shift.is_told)
            found.push_back(&rank);
    return found;
}

// Steps of the first rank that all of these have, by the length in the slowest; timed ones, if there are any.
std::vector<size_t> by_length(const std::vector<const OfRank*>& ranks) {
    std::map<size_t, int64_t> lengths;
    std::vector<size_t> timed, counted;
    const OfRank& first = *ranks.front();
    for (size_t step = 0; step < first.facts->steps.size(); ++step) {
        bool is_timed = true, is_counted = true;
        int64_t longest_ns = 0;
        for (const OfRank* rank : ranks) {
            const int64_t own = static_cast<int64_t>(step) + first.shift.steps - rank->shift.steps;
            is_counted = is_counted && counts(*rank, own);
            if (!is_counted) break;
            is_timed = is_timed && rank->timed[static_cast<size_t>(own)];
            longest_ns = std::max(longest_ns, rank->facts->steps[static_cast<size_t>(own)].length_ns());
        }
        if (!is_counted) continue;
        lengths[step] = longest_ns;
        counted.push_back(step);
        if (is_timed) timed.push_back(step);
    }
    std::vector<size_t>& chosen = timed.empty() ? counted : timed;
    std::stable_sort(chosen.begin(), chosen.end(),
                     [&](size_t a, size_t b) { return lengths.at(a) < lengths.at(b); });
    return chosen;
}

int64_t wall_offset_ns(const TraceFacts& facts) {
    Query offset = facts.trace->base.prepare("SELECT real_minus_mono_ns FROM v_offset");
    return offset.step() ? plausible_time(offset.number(0)) : 0;
}

void set_clock(const CollectiveRun& all, int64_t at_ns, Member& member) {
    const int clock = all.clocks.clock_of(member.rank->facts->rank_id);
    if (const auto offset = all.clocks.offset(clock, at_ns)) {
        member.offset_ns = offset->point_ns;
        if (clock == 0) return;
        member.clock = "collectives";
        member.clock_error_ns = offset->clock_error_ns();
    } else {
        member.offset_ns =
            plausible_time(wall_offset_ns(*member.rank->facts) - wall_offset_ns(*all.traces.front()));
        member.clock = "wall";
    }
}

// Its step that began last before the middle of that time; none: it has no step then.
std::optional<size_t> step_at(const OfRank& rank, const Interval& span, int64_t offset_ns) {
    const std::vector<Step>& steps = rank.facts->steps;
    const int64_t middle_ns = span.start_ns + span.length_ns() / 2 - offset_ns;
    const auto behind = std::upper_bound(steps.begin(), steps.end(), middle_ns,
                                         [](int64_t ns, const Step& step) { return ns < step.begin_ns; });
    if (behind == steps.begin() || std::prev(behind)->end_ns <= middle_ns) return {};
    return static_cast<size_t>(behind - steps.begin()) - 1;
}

// The rank's step that is that one of the first.
std::optional<Member> member_of(const CollectiveRun& all, const OfRank& rank, const OfRank& first,
                                const Member& of_first) {
    Member member = {&rank, 0};
    if (rank.shift.is_told && first.shift.is_told) {
        const int64_t step = static_cast<int64_t>(of_first.step) + first.shift.steps - rank.shift.steps;
        if (step < 0 || step >= static_cast<int64_t>(rank.facts->steps.size())) return {};
        member.step = static_cast<size_t>(step);
        set_clock(all, member.is().begin_ns, member);
        const bool is_then = member.span().start_ns < of_first.span().end_ns &&
                             of_first.span().start_ns < member.span().end_ns;
        if (!is_then && std::string_view(member.clock) == "wall") {
            member.clock = "none";
            member.offset_ns = plausible_time(of_first.span().start_ns) - member.is().begin_ns;
        }
        return member;
    }
    set_clock(all, rank.facts->steps.front().begin_ns, member);
    const auto step = step_at(rank, of_first.span(), member.offset_ns);
    if (!step) return {};
    member.step = *step;
    return member;
}

// What the GPU with most to do was busy with, in that step; and whether the rank is the run's straggler.
// Slices of ranks are different times, so no work of theirs is to be compared.
void read_work(const RunDb& run, Member& member) {
    if (member.rank->facts->are_slices) return;
    Query work(run.raw(), "run",
               "SELECT max(s.own_work_ns), EXISTS (SELECT 1 FROM skew k JOIN skew_rank r ON r.comm = k.comm"
               " AND r.comm_rank = k.straggler_rank WHERE r.rank_id = ?1) FROM gpu g"
               " LEFT JOIN gpu_step s ON s.gpu_id = g.gpu_id AND s.step = ?2 WHERE g.rank_id = ?1");
    work.bind(1, member.rank->facts->rank_id);
    work.bind(2, static_cast<int64_t>(member.step));
    if (!work.step()) return;
    member.own_work_ns = work.maybe(0);
    member.is_straggler = work.number(1) != 0;
}

// Those with most and least work of their own, every n-th between, and the straggler in the place of one of
// these; in order of the ranks.
std::vector<Member> chosen(const std::vector<Member>& members) {
    if (members.size() <= kMostRanks) return members;
    std::vector<size_t> order(members.size()), taken;
    std::iota(order.begin(), order.end(), size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) { return members[a].work_ns() > members[b].work_ns(); });
    for (size_t i = 0; i < kMostRanks; ++i) taken.push_back(order[i * (order.size() - 1) / (kMostRanks - 1)]);
    const auto is_straggler = [&](size_t i) { return members[i].is_straggler; };
    const auto straggler = std::find_if(order.begin(), order.end(), is_straggler);
    if (straggler != order.end() && std::none_of(taken.begin(), taken.end(), is_straggler))
        taken[1] = *straggler;
    std::sort(taken.begin(), taken.end());
    std::vector<Member> result;
    for (const size_t i : taken) result.push_back(members[i]);
    return result;
}

void write_step(const CollectiveRun& all, const std::vector<OfRank>& ranks, size_t step,
                const std::string& why, RunDb& run) {
    Member first = {&ranks.front(), step};
    set_clock(all, first.is().begin_ns, first);
    std::vector<Member> members;
    for (const OfRank& rank : ranks) {
        auto member = &rank == first.rank ? std::optional(first) : member_of(all, rank, ranks.front(), first);
        if (!member) continue;
        read_work(run, *member);
        members.push_back(*member);
    }
    for (const Member& member : chosen(members)) {
        const TraceFacts& facts = *member.rank->facts;
        KeptWriter writer(facts, run);
        if (!writer.has(member.step)) writer.keep(member.step, why + " of all ranks");
        writer.finish();
        const bool by_collectives = member.rank->shift.is_told && first.rank->shift.is_told;
        run.add("together_step",
                {why, facts.rank_id, static_cast<int64_t>(member.step), static_cast<int64_t>(members.size()),
                 maybe(member.own_work_ns), int64_t{member.is_straggler}, member.offset_ns,
                 std::string(member.clock), maybe(member.clock_error_ns),
                 std::string(by_collectives ? "collectives" : "time")});
    }
}

// The slice of which the first rank's excerpt is.
std::optional<size_t> excerpt_of(const OfRank& rank, const RunDb& run) {
    Query kept(run.raw(), "run", "SELECT step FROM kept_step WHERE rank_id = ?1 AND why = ?2");
    kept.bind(1, rank.facts->rank_id);
    kept.bind(2, kExcerpt);
    return kept.step() ? std::optional(static_cast<size_t>(kept.number(0))) : std::nullopt;
}

}  // namespace

void write_together(const CollectiveRun& all, RunDb& run) {
    const std::vector<OfRank> ranks = ranks_of(all, run);
    if (ranks.empty()) return;
    if (ranks.front().facts->are_slices) {
        if (const auto slice = excerpt_of(ranks.front(), run)) write_step(all, ranks, *slice, kExcerpt, run);
        return;
    }
    std::vector<size_t> steps = by_length(matched(ranks));
    if (steps.empty()) steps = by_length({&ranks.front()});
    if (steps.empty()) return;
    const size_t typical = typical_of(steps), worst = steps.back();
    write_step(all, ranks, typical, "typical", run);
    if (worst != typical) write_step(all, ranks, worst, "worst", run);
}

}  // namespace gpushim::analysis
