// Pages of managed memory move when something touches them that is not where they are: the kernel, or the
// host, waits meanwhile. For how long kernels wait is recorded nowhere: of that this is a note without a
// gain. Between two moves the GPU is idle; which part of that time is the host's own work is not known.
#include <algorithm>

#include "../text/units.h"
#include "../to_int64.h"
#include "timed_gpus.h"

namespace gpushim::analysis::rule_page_faults {

namespace {

constexpr double kWorthSaying = 0.05;  // of the time, or of that of kernels

struct Moves {
    int64_t count = 0, in_bytes = 0, out_bytes = 0, rowid = 0;
    double in_ns = 0, ns = 0;  // of a step
};

// On the GPU that has most of them.
Moves most_moves(const Situation& run, int64_t& gpu_id) {
    Moves most;
    Query row = run.ask(
        "SELECT gpu_id, sum(count), sum(CASE WHEN kind = 'h2d' THEN bytes ELSE 0 END),"
        " sum(CASE WHEN kind = 'd2h' THEN bytes ELSE 0 END), min(rowid),"
        " sum(CASE WHEN kind = 'h2d' THEN sum_ns ELSE 0 END), sum(sum_ns) FROM copy_stat"
        " WHERE source = 'managed' AND target = 'managed' AND kind IN ('h2d', 'd2h') AND timed > 0"
        " GROUP BY gpu_id");
    while (row.step()) {
        const double ns = run.counted(row.real(6));
        if (ns <= most.ns) continue;
        gpu_id = row.number(0);
        most = {row.number(1), row.number(2), row.number(3), row.number(4), run.counted(row.real(5)), ns};
    }
    return most;
}

constexpr Heading kIdle = {"page faults", "Managed memory that moves page by page",
                           "the GPU waits while pages of managed memory move one by one",
                           "pages moved ahead, or copies"};

std::string moves_text(const Moves& moves) {
    return count_text(moves.count) + " moves of managed memory's pages in all (" +
           bytes_text(static_cast<double>(moves.in_bytes)) + " to the device, " +
           bytes_text(static_cast<double>(moves.out_bytes)) + " back)";
}

std::optional<Finding> look(const Situation& run) {
    if (!run.is_known()) return {};
    int64_t gpu_id = 0;
    const Moves moves = most_moves(run, gpu_id);
    const bool is_much = moves.ns >= kWorthSaying * run.step_ns() ||
                         moves.in_ns >= kWorthSaying * std::max(1.0, timed_gpu(run, gpu_id).compute_ns);
    const double between_ns = run.what_if().without({"managed_pages"}).high_ns;
    const bool is_idle = between_ns >= kWorthSaying * run.step_ns();
    if (moves.ns <= 0 || !(is_much || is_idle)) return {};
    Finding found;
    found.title = moves_text(moves) + " take " + duration_text(moves.ns) + " of a " + run.per() +
                  ", and what touches a page waits for it";
    found.try_it = run.advice({"page_faults"});
    found.confidence = 0.7;
    found.kind = Kind::kNote;
    found.evidence = {{"copy_stat", moves.rowid}};
    if (!is_idle) return found;
    found.title = "the GPU is idle " + duration_text(between_ns) + " of a " + run.per() +
                  " from one page of managed memory to the next, while the host or a kernel touches them; " +
                  moves_text(moves) + " take " + duration_text(moves.ns);
    found.kind = Kind::kGain;
    found.gain = {0, between_ns};
    found.heading = &kIdle;
    for (const Evidence& row : run.gaps_of({"managed_pages"})) found.evidence.push_back(row);
    return found;
}

constexpr Heading kHeading = {"page faults", "Managed memory that moves page by page", "", ""};
const RuleRegistration kRegistration({"page_faults", Scope::kOneGpu, look, kHeading});

}  // namespace

}  // namespace gpushim::analysis::rule_page_faults
