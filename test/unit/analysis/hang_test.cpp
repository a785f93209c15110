// Whether a job hung, from how its traces end.
#include "analysis/report/hang.h"

#include <catch2/catch.hpp>

namespace hang_test {

using namespace gpushim::analysis;

namespace {

constexpr int64_t kMs = 1'000'000, kSecond = 1'000'000'000;

LastSeen seen(int64_t rank, int64_t last_ns, int64_t sequence, const std::string& open_call = {}) {
    LastSeen made;
    made.label = "rank " + std::to_string(rank);
    made.rank = rank;
    made.clock = "boot";
    made.last_ns = last_ns;
    made.alive_ns = last_ns;
    made.last_call = "cuLaunchKernel";
    made.collectives["c"] = {sequence, "ncclAllReduce"};
    made.open_call = open_call;
    made.open_waits = !open_call.empty();
    made.open_since_ns = last_ns;
    return made;
}

//  rank 0   ─step─step─[cuStreamSynchronize ····· 11 s |      has called AllReduce 21
//  rank 1   ─step─                                     |      20
std::vector<LastSeen> hung() {
    std::vector<LastSeen> ranks = {seen(0, 10 * kSecond, 21, "cuStreamSynchronize"),
                                   seen(1, 10 * kSecond - 4 * kMs, 20)};
    ranks[0].alive_ns = ranks[1].alive_ns = 21 * kSecond;
    return ranks;
}

}  // namespace

TEST_CASE("who waits and who is missing in a job that hung", "[hang]") {
    const auto found = judge(hung(), 4 * kMs);
    REQUIRE(found);
    CHECK(found->for_ns == 11 * kSecond);
    CHECK(found->steps == Approx(2750));
    CHECK(found->last_sequence == 21);
    REQUIRE(found->waiting.size() == 1);
    CHECK(found->waiting[0].rank == 0);
    CHECK(found->waiting[0].call == "cuStreamSynchronize");
    CHECK(found->waiting[0].for_ns == 11 * kSecond);
    REQUIRE(found->missing.size() == 1);
    CHECK(found->missing[0].rank == 1);
    CHECK(found->missing[0].call == "cuLaunchKernel");
    CHECK(found->missing[0].for_ns == 11 * kSecond + 4 * kMs);
    CHECK(found->missing[0].sequence == 20);
    CHECK(found->missing[0].is_behind);
}

TEST_CASE("a rank that waits and is behind in the collectives is missing, too", "[hang]") {
    auto ranks = hung();
    ranks[1].open_call = "cuCtxSynchronize";
    ranks[1].open_waits = true;
    ranks[1].open_since_ns = ranks[1].last_ns;
    const auto found = judge(ranks, 4 * kMs);
    REQUIRE(found);
    CHECK(found->missing.size() == 1);
    CHECK(found->missing[0].call == "cuCtxSynchronize");
    ranks[1].collectives["c"].sequence = 21;
    CHECK(judge(ranks, 4 * kMs)->missing.empty());
    // A process that was stopped waits for nobody, wherever it is.
    ranks[1].alive_ns = ranks[1].last_ns;
    REQUIRE(judge(ranks, 4 * kMs)->missing.size() == 1);
    CHECK(judge(ranks, 4 * kMs)->missing[0].is_silent);
    ranks[1].alive_ns = 21 * kSecond;
    ranks[1].open_waits = false;  // in a call that should return at once
    CHECK(judge(ranks, 4 * kMs)->missing[0].is_inside);
}

TEST_CASE("what is no hang", "[hang]") {
    // 20 usual steps are not much, nor is anything below 2 s.
    CHECK(!judge(hung(), 600 * kMs));
    auto ranks = hung();
    ranks[0].alive_ns = ranks[1].alive_ns = 12 * kSecond - 1;
    CHECK(!judge(ranks, kMs));
    ranks[0].alive_ns = 12 * kSecond;
    CHECK(judge(ranks, kMs));
    // Without steps: 10 s.
    CHECK(!judge(ranks, {}));
    CHECK(judge(hung(), {}));
    // Some rank goes on, or is in no call of ours: it may be busy with anything.
    ranks = hung();
    ranks[1].last_ns = 21 * kSecond;
    CHECK(!judge(ranks, kMs));
    ranks = hung();
    ranks[0].open_call.clear();
    ranks[0].open_waits = false;
    CHECK(!judge(ranks, kMs));
    // Those that have ended do not hang; others may hang for them.
    ranks = hung();
    ranks[1].has_ended = true;
    CHECK(judge(ranks, kMs)->missing[0].has_ended);
    ranks[0].has_ended = true;
    CHECK(!judge(ranks, kMs));
    CHECK(!judge({}, kMs));
}

TEST_CASE("clocks of different hosts are not compared", "[hang]") {
    auto ranks = hung();
    ranks[1].clock = "other";
    ranks[1].last_ns = 900 * kSecond;
    ranks[1].alive_ns = 905 * kSecond;
    const auto found = judge(ranks, kMs);
    REQUIRE(found);
    CHECK(found->for_ns == 5 * kSecond);
}

}  // namespace hang_test
