// Some tokens wait while a prompt is worked through. The prompt's work has to be done, so nothing is saved: a
// note.
#include "../advice/rule.h"
#include "../text/units.h"

namespace gpushim::analysis::rule_prefill_stalls {

namespace {

constexpr double kLonger = 2;    // than the usual one
constexpr double kOften = 0.01;  // of the tokens

// How many tokens waited for a prompt, of how many; how long these waited on average, how long the others,
// and how long at most.
constexpr const char* kGaps =
    "SELECT count(CASE WHEN prefills > 0 THEN 1 END), count(*), avg(CASE WHEN prefills > 0 THEN gap_ns END),"
    " avg(CASE WHEN prefills = 0 THEN gap_ns END), max(CASE WHEN prefills > 0 THEN gap_ns END)"
    " FROM v_token_gap WHERE gap_ns IS NOT NULL";

std::optional<Finding> look(const Situation& run) {
    if (run.serving().prefills() == 0) return {};
    Query gaps = run.ask(kGaps);
    if (!gaps.step() || gaps.is_null(2) || gaps.is_null(3)) return {};
    const double stalled = gaps.real(0), all = gaps.real(1);
    if (stalled < kOften * all || gaps.real(2) < kLonger * gaps.real(3)) return {};
    Finding found;
    found.title = count_text(gaps.number(0)) + " of " + count_text(gaps.number(1)) +
                  " tokens waited for a prompt: " + duration_text(gaps.real(2)) + " from the token before, " +
                  duration_text(gaps.real(4)) + " at most, instead of " + duration_text(gaps.real(3));
    found.try_it = run.advice({"prefill_stalls"});
    found.confidence = 0.8;
    found.kind = Kind::kNote;
    return found;
}

constexpr Heading kHeading = {"stalled decodes", "Prompts that hold up decodes", "", ""};
const RuleRegistration kRegistration({"prefill_stalls", Scope::kOneGpu, look, kHeading, Programs::serving});

}  // namespace

}  // namespace gpushim::analysis::rule_prefill_stalls
