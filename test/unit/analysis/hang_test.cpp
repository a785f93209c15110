// Whether a job hung, from how its traces end.
#include "analysis/report/hang.h"

#include <catch2/catch.hpp>

#include "analysis/report/hang_text.h"

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

TEST_CASE("a rank inside of a collective that has not returned is not behind in it", "[hang]") {
    std::vector<LastSeen> ranks = {seen(0, 10 * kSecond, 21, "cuStreamSynchronize"),
                                   seen(1, 10 * kSecond, 20, "ncclAllReduce")};
    ranks[0].alive_ns = ranks[1].alive_ns = 21 * kSecond;
    ranks.push_back(seen(2, 10 * kSecond, 20));  // it is in no call
    ranks[2].alive_ns = 21 * kSecond;
    REQUIRE(judge(ranks, {}, kSecond)->missing.size() == 1);
    CHECK(judge(ranks, {}, kSecond)->missing[0].rank == 2);
    // Where nobody else is missing it may be in that one, or in another.
    ranks.pop_back();
    const auto hang = judge(ranks, {}, kSecond);
    REQUIRE(hang->missing.size() == 1);
    CHECK(!hang->missing[0].is_behind);
    REQUIRE(hang->waiting.size() == 1);
    CHECK(hang_lines(*hang)[1] ==
          "rank 1 may be in ncclAllReduce 21 of communicator c, in which rank 0 waits, "
          "or in one of another communicator; has been in ncclAllReduce for 11.0 s");
    ranks[1].open_call = "ncclBroadcast";
    REQUIRE(judge(ranks, {}, kSecond)->missing.size() == 1);
    ranks[1] = seen(1, 10 * kSecond, 19, "ncclAllReduce");  // it has two to go
    ranks[1].alive_ns = 21 * kSecond;
    REQUIRE(judge(ranks, {}, kSecond)->missing.size() == 1);
}

TEST_CASE("without a report the usual step is what the ranks mark", "[hang]") {
    std::vector<LastSeen> ranks = hung();
    CHECK(!judge(ranks, {}, kSecond)->steps);
    ranks[0].step_ns = 11 * kMs;
    CHECK(judge(ranks, {}, kSecond)->steps == Approx(1000));
    CHECK(judge(ranks, 4 * kMs)->steps == Approx(2750));
    CHECK(!judge(ranks, {}, 12 * kSecond));  // it is no hang for that
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

namespace {

//  number        40            41
//  rank 0    AllReduce 8 MB | AllReduce 8 MB ····· all wait
//  rank 1    AllReduce 8 MB | Broadcast 4 MB ·····
//  rank 2    AllReduce 8 MB | AllReduce 8 MB ·····
std::vector<LastSeen> in_wrong_collective() {
    std::vector<LastSeen> ranks;
    for (int64_t rank = 0; rank < 3; ++rank) {
        ranks.push_back(seen(rank, 10 * kSecond, 41, "cuStreamSynchronize"));
        ranks.back().alive_ns = 52 * kSecond;
        ranks.back().communicator_ranks["c"] = 3;
        for (int64_t number : {40, 41}) ranks.back().recent["c"][number] = {"ncclAllReduce", 8'000'000, {}};
    }
    ranks[1].recent["c"][41] = {"ncclBroadcast", 4'000'000, 0};
    return ranks;
}

std::string without_spaces(std::string text) {
    std::erase_if(text, [](char c) { return c == ' ' || c == '\n'; });
    return text;
}

std::vector<std::string> lines_of(const std::vector<LastSeen>& ranks) {
    return hang_lines(*judge(ranks, {}));
}

}  // namespace

TEST_CASE("a rank in a wrong collective is missing, though all wait", "[hang]") {
    const auto ranks = in_wrong_collective();
    const auto found = judge(ranks, {});
    REQUIRE(found);
    REQUIRE(found->mismatch);
    CHECK(found->mismatch->sequence == 41);
    REQUIRE(found->missing.size() == 1);
    CHECK(found->missing[0].rank == 1);
    CHECK(found->waiting.size() == 2);
    CHECK(lines_of(ranks)[1] ==
          "rank 1 called ncclBroadcast of 4.00 MB with root 0 as number 41 of communicator c (3 ranks), "
          "ranks 0, 2 "
          "called ncclAllReduce of 8.00 MB: these cannot meet");
    const std::string json = without_spaces(hang_json(found, true).text());
    CHECK(json.find("\"call\":\"ncclBroadcast\",\"bytes\":4000000,\"root\":0") != std::string::npos);
}

TEST_CASE("sizes that do not match are told where they first differ", "[hang]") {
    auto ranks = in_wrong_collective();
    ranks[1].recent["c"][40] = {"ncclAllReduce", 16, {}};
    ranks[1].recent["c"][41] = {"ncclAllReduce", 8'000'000, {}};
    const auto found = judge(ranks, {});
    REQUIRE(found->mismatch);
    CHECK(found->mismatch->sequence == 40);
    CHECK(found->missing[0].rank == 1);
    // Of what a rank has no rows any more nothing is said; nor where all agree.
    ranks[1].recent["c"].erase(40);
    CHECK(!judge(ranks, {})->mismatch);
    CHECK(judge(ranks, {})->missing.empty());
}

TEST_CASE("who is missing in which communicator, and where it is instead", "[hang]") {
    std::vector<LastSeen> ranks;
    for (int64_t rank = 0; rank < 8; ++rank) {
        ranks.push_back(seen(rank, 10 * kSecond, rank == 3 ? 411 : 412, "cuStreamSynchronize"));
        ranks.back().alive_ns = 52 * kSecond;
        ranks.back().communicator_ranks["c"] = 8;
    }
    CHECK(lines_of(ranks)[1] ==
          "rank 3 has not called ncclAllReduce 412 of communicator c (8 ranks), in which ranks 0-2, 4-7 "
          "wait; its last "
          "is 411; has been in cuStreamSynchronize for 42.0 s");
    ranks[3].newest = {"0123456789abcdef", 7, "ncclBroadcast"};
    ranks[3].process = ProcessNow::stopped;
    ranks[3].python = "train.py:41 step";
    CHECK(lines_of(ranks)[1] ==
          "rank 3 has not called ncclAllReduce 412 of communicator c (8 ranks), in which ranks 0-2, 4-7 "
          "wait; its last "
          "is 411; has called ncclBroadcast 7 of communicator 01234567 instead; has been in "
          "cuStreamSynchronize for "
          "42.0 s, at train.py:41 step; its process is stopped, and what it did last may not be written");
}

TEST_CASE("of a rank that has written nothing no time is told", "[hang]") {
    auto ranks = hung();
    ranks[1] = LastSeen();
    ranks[1].label = "rank 1";
    ranks[1].clock = "boot";
    ranks[1].process = ProcessNow::gone;
    CHECK(lines_of(ranks)[1] == "rank 1 has written nothing yet; its process is gone");
    const std::string json = without_spaces(hang_json(judge(ranks, {}), true).text());
    CHECK(json.find("\"for_ns\":null") != std::string::npos);
}

TEST_CASE("how long is asked for", "[hang]") {
    CHECK(!judge(hung(), {}, 11 * kSecond + 1));
    CHECK(judge(hung(), 600 * kMs, 11 * kSecond));
}

}  // namespace hang_test
