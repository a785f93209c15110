// The bounded table of what comes back: counts, spacing, and what is dropped.
#include "analysis/step/candidates.h"

#include <algorithm>
#include <catch2/catch.hpp>

#include "step_tokens.h"

namespace step_candidates_test {

using namespace gpushim::analysis;

namespace {

Candidates counted(const MadeRun& run) {
    Candidates candidates;
    Keys keys;
    for (const Token& token : run.tokens) candidates.add(token, keys.of(token));
    return candidates;
}

const Candidate* with_count(const std::vector<Candidate>& candidates, int64_t count) {
    const auto it = std::find_if(candidates.begin(), candidates.end(),
                                 [&](const Candidate& each) { return each.count == count; });
    return it == candidates.end() ? nullptr : &*it;
}

}  // namespace

TEST_CASE("counts, spacing and its variation", "[step]") {
    //  h a b b | h a b b | ...   h every 40 ns, b after 10 and 30 ns in turn: 20 ± 10
    MadeRun run;
    run.repeat("habb", 6);
    const auto best = counted(run).best(10);
    const Candidate* const six = with_count(best, 6);
    REQUIRE(six != nullptr);
    CHECK(six->hash == 'h' * 1000);
    CHECK(six->preference() == 2);
    CHECK(six->mean_ns == 40);
    CHECK(six->variation() == 0);
    CHECK(six->steady_share() == 1);
    CHECK(six->first_ns == 0);
    CHECK(six->last_ns == 200);
    const Candidate* const twelve = with_count(best, 12);
    REQUIRE(twelve != nullptr);
    // 11 spacings, six of 10 and five of 30: mean 210/11, squares 6·(100/11)² + 5·(120/11)²
    CHECK(twelve->mean_ns == Approx(210.0 / 11));
    CHECK(twelve->squares == Approx(132'000.0 / 121));
    CHECK(twelve->steady_share() == 0);
}

TEST_CASE("a step of more keys than there is room for is still counted from its first time on", "[step]") {
    Candidates candidates;
    Keys keys;
    int64_t at_ns = 0;
    for (int step = 0; step < 8; ++step)
        for (int64_t hash = 1; hash <= 5000; ++hash) {
            const Token token{hash, ++at_ns, 0, TokenKind::kernel};
            candidates.add(token, keys.of(token));
        }
    CHECK(candidates.has_dropped());
    CHECK(candidates.size() <= Candidates::kMost);
    const auto best = candidates.best(10);
    const Candidate* const all = with_count(best, 8);
    REQUIRE(all != nullptr);
    CHECK(all->mean_ns == 5000);
}

}  // namespace step_candidates_test
