// Calls of several ranks put together by sequence: what belongs together, what is missing, what contradicts.
#include "analysis/collective/match.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <random>
#include <string>

namespace collective_match_test {

using namespace gpushim::analysis;

namespace {

constexpr CollectiveOp kReduce = CollectiveOp::all_reduce;

struct Matched {
    std::vector<CollectiveInstance> instances;
    std::vector<CollectiveMismatch> mismatches;

    MatchSink sink() {
        return {[this](const CollectiveInstance& one) { instances.push_back(one); },
                [this](const CollectiveMismatch& one) { mismatches.push_back(one); }};
    }
};

// A call in a group of its own, which ran for 10 ns.
CollectiveCall call(CollectiveOp op, int64_t sequence, int64_t bytes, int64_t group = -1, int peer = -1) {
    const Interval device = {sequence * 100, sequence * 100 + 10};
    CollectiveCall made = {op,    sequence, bytes, group == -1 ? 1000 + sequence : group, peer, false,
                           false, 1,        device};
    return made;
}

using Calls = std::vector<std::vector<CollectiveCall>>;  // by rank

Matched match(const Calls& calls, int ranks) {
    Matched matched;
    std::vector<int> present;
    for (size_t rank = 0; rank < calls.size(); ++rank) present.push_back(static_cast<int>(rank));
    CommunicatorMatch matcher(ranks, present, matched.sink());
    for (const int rank : present)
        for (const CollectiveCall& one : calls[static_cast<size_t>(rank)]) matcher.take(rank, one);
    for (const int rank : present) matcher.end(rank);
    CHECK(matcher.waiting() == 0);
    return matched;
}

std::string text(const CollectiveInstance& one) {
    std::string line = std::string(facts_of(one.op).word) + " #" + std::to_string(one.sequence) + " x" +
                       std::to_string(one.calls) + " " + std::to_string(one.bytes) + " of " +
                       std::to_string(one.ranks) + " from " + std::to_string(one.root) + " to " +
                       std::to_string(one.destination) + ":";
    for (const RankPart& part : one.parts)
        line += " " + std::to_string(part.rank) + "@" + std::to_string(part.device->start_ns);
    return line;
}

}  // namespace

//  rank 0   #1 64   #2 8
//  rank 1   #1 64   #2 8
TEST_CASE("equal calls are one instance", "[collective]") {
    const std::vector<CollectiveCall> each = {call(kReduce, 1, 64), call(CollectiveOp::all_gather, 2, 8)};
    const Matched matched = match({each, each}, 2);
    REQUIRE(matched.instances.size() == 2);
    CHECK(matched.mismatches.empty());
    CHECK(matched.instances[0].complete());
    CHECK(matched.instances[0].whole_bytes == 64);
    CHECK(matched.instances[1].bytes == 8);
    CHECK(matched.instances[1].whole_bytes == 16);
}

//  rank 0   #1   #2   #3
//  rank 1   #1        #3        #2 was lost
TEST_CASE("a missing call is k of n, and moves nothing else", "[collective]") {
    const Matched matched = match({{call(kReduce, 1, 64), call(kReduce, 2, 64), call(kReduce, 3, 64)},
                                   {call(kReduce, 1, 64), call(kReduce, 3, 64)}},
                                  2);
    REQUIRE(matched.instances.size() == 3);
    CHECK(matched.instances[0].complete());
    CHECK(!matched.instances[1].complete());
    CHECK(matched.instances[1].parts.size() == 1);
    CHECK(matched.instances[2].complete());
    CHECK(matched.mismatches.empty());
    // A rank without a trace is missing everywhere.
    CHECK(!match({{call(kReduce, 1, 64)}, {call(kReduce, 1, 64)}}, 3).instances[0].complete());
}

//  rank 0   #1 AllReduce 64    #2 AllReduce 64
//  rank 1   #1 AllReduce 64    #2 AllReduce 32
//  rank 2   #1 Broadcast 64    #2 AllReduce 64
TEST_CASE("calls that differ at one number are a finding", "[collective]") {
    const Matched matched = match({{call(kReduce, 1, 64), call(kReduce, 2, 64)},
                                   {call(kReduce, 1, 64), call(kReduce, 2, 32)},
                                   {call(CollectiveOp::broadcast, 1, 64), call(kReduce, 2, 64)}},
                                  3);
    REQUIRE(matched.mismatches.size() == 2);
    CHECK(matched.mismatches[0].kind == CollectiveMismatch::Kind::op);
    CHECK(matched.mismatches[0].rank == 0);
    CHECK(matched.mismatches[0].other_rank == 2);
    CHECK(matched.mismatches[0].other_op == CollectiveOp::broadcast);
    CHECK(matched.mismatches[1].kind == CollectiveMismatch::Kind::bytes);
    CHECK(matched.mismatches[1].sequence == 2);
    CHECK(matched.mismatches[1].value == 64);
    CHECK(matched.mismatches[1].other_value == 32);
    CHECK(matched.mismatches[1].other_rank == 1);
    // Nobody's transfer is known: 2 of 3 and 1 of 3, twice.
    REQUIRE(matched.instances.size() == 4);
    CHECK(matched.instances[2].parts.size() == 2);
    CHECK(std::none_of(matched.instances.begin(), matched.instances.end(),
                       [](const CollectiveInstance& one) { return one.complete(); }));
}

TEST_CASE("another root is a finding, another time is none", "[collective]") {
    CollectiveCall late = call(CollectiveOp::broadcast, 1, 64, -1, 0);
    late.device = Interval{1'000'000, 1'000'001};
    CHECK(match({{call(CollectiveOp::broadcast, 1, 64, -1, 0)}, {late}}, 2).mismatches.empty());
    late.peer = 1;
    const Matched matched = match({{call(CollectiveOp::broadcast, 1, 64, -1, 0)}, {late}}, 2);
    REQUIRE(matched.mismatches.size() == 1);
    CHECK(matched.mismatches[0].kind == CollectiveMismatch::Kind::root);
}

//  rank 0, 1   (#1 64  #2 16)   #3 8       group 7 is one kernel
TEST_CASE("a group is one instance of all its bytes", "[collective]") {
    CollectiveCall first = call(kReduce, 1, 64, 7), second = call(kReduce, 2, 16, 7);
    first.device = second.device = Interval{100, 150};
    const std::vector<CollectiveCall> each = {first, second, call(kReduce, 3, 8)};
    const Matched matched = match({each, each}, 2);
    REQUIRE(matched.instances.size() == 2);
    CHECK(matched.instances[0].calls == 2);
    CHECK(matched.instances[0].bytes == 80);
    CHECK(matched.instances[0].op == kReduce);
    CHECK(matched.instances[0].parts[1].device == Interval{100, 150});
    CHECK(matched.instances[1].calls == 1);
    CHECK(matched.instances[1].sequence == 3);
    // Ranks that group differently.
    const Matched other = match({each, {call(kReduce, 1, 64), call(kReduce, 2, 16), call(kReduce, 3, 8)}}, 2);
    REQUIRE(other.mismatches.size() == 1);
    CHECK(other.mismatches[0].kind == CollectiveMismatch::Kind::grouping);
    CHECK(other.instances.back().complete());
    // Also where the bytes are the same.
    CHECK(match({{first, second}, {call(kReduce, 1, 80)}}, 2).mismatches.size() == 1);
}

TEST_CASE("different operations in one kernel are mixed", "[collective]") {
    const std::vector<CollectiveCall> each = {call(kReduce, 1, 64, 7),
                                              call(CollectiveOp::all_gather, 2, 16, 7)};
    const Matched matched = match({each, each}, 2);
    REQUIRE(matched.instances.size() == 1);
    CHECK(matched.instances[0].op == CollectiveOp::mixed);
    CHECK(matched.instances[0].whole_bytes == 64 + 2 * 16);
}

TEST_CASE("captured calls count with their replays", "[collective]") {
    CollectiveCall captured = call(kReduce, 1, 64);
    captured.replays = 50;
    CollectiveCall fewer = captured;
    fewer.replays = 49;
    CHECK(match({{captured}, {captured}}, 2).instances[0].replays == 50);
    const Matched matched = match({{captured}, {fewer}}, 2);
    REQUIRE(matched.instances.size() == 1);
    CHECK(matched.instances[0].replays == 49);
    REQUIRE(matched.mismatches.size() == 1);
    CHECK(matched.mismatches[0].kind == CollectiveMismatch::Kind::replays);
    CHECK(matched.mismatches[0].other_value == 49);
}

TEST_CASE("calls of nothing are skipped, aborted ones are marked", "[collective]") {
    CHECK(match({{call(kReduce, 1, 0)}, {call(kReduce, 1, 0)}}, 2).instances.empty());
    CHECK(match({{call(CollectiveOp::barrier, 1, 0)}}, 2).instances.size() == 1);
    CollectiveCall aborted = call(kReduce, 1, 64);
    aborted.aborted = true;
    CHECK(match({{call(kReduce, 1, 64)}, {aborted}}, 2).instances[0].aborted);
}

//  rank 0   send→1 #1   send→2 #1   send→1 #2
//  rank 1   recv←0 #1               recv←0 #2
//  rank 2               recv←0 #1
TEST_CASE("sends find their receives by pair and number", "[collective]") {
    constexpr CollectiveOp kSend = CollectiveOp::send, kRecv = CollectiveOp::recv;
    const Matched matched =
        match({{call(kSend, 1, 8, 1, 1), call(kSend, 1, 16, 2, 2), call(kSend, 2, 32, 3, 1)},
               {call(kRecv, 1, 8, 1, 0), call(kRecv, 2, 31, 2, 0)},
               {call(kRecv, 1, 16, 1, 0)}},
              3);
    std::vector<std::string> lines;
    for (const CollectiveInstance& one : matched.instances) lines.push_back(text(one));
    std::sort(lines.begin(), lines.end());
    REQUIRE(lines.size() == 4);
    CHECK(lines[0] == "send #1 x1 16 of 2 from 0 to 2: 0@100 2@100");
    CHECK(lines[1] == "send #1 x1 8 of 2 from 0 to 1: 0@100 1@100");
    CHECK(lines[2] == "send #2 x1 31 of 2 from 0 to 1: 1@200");
    CHECK(lines[3] == "send #2 x1 32 of 2 from 0 to 1: 0@200");
    REQUIRE(matched.mismatches.size() == 1);
    CHECK(matched.mismatches[0].kind == CollectiveMismatch::Kind::bytes);
}

//  rank 0   send→1 #1   send→1 #2   send→1 #3, …
//  rank 1   recv←0 #1   end: no more
TEST_CASE("a send whose receiver has ended does not wait for it", "[collective]") {
    Matched matched;
    CommunicatorMatch matcher(2, {0, 1}, matched.sink());
    for (const int64_t sequence : {1, 2, 3}) matcher.take(0, call(CollectiveOp::send, sequence, 8, -1, 1));
    matcher.take(1, call(CollectiveOp::recv, 1, 8, -1, 0));
    CHECK(matched.instances.empty());
    CHECK(matcher.waiting() == 2);
    matcher.end(1);
    REQUIRE(matched.instances.size() == 2);
    CHECK(matched.instances[0].complete());
    CHECK(!matched.instances[1].complete());
    CHECK(matcher.waiting() == 0);
}

TEST_CASE("sends in a group have no kernel of their own", "[collective]") {
    const std::vector<CollectiveCall> both = {call(CollectiveOp::send, 1, 8, 5, 1),
                                              call(CollectiveOp::recv, 1, 8, 5, 1)};
    for (const CollectiveInstance& one : match({both}, 2).instances) CHECK(one.shares_kernel);
    CHECK(match({both}, 2).instances.size() == 2);
    CHECK(!match({{both[0]}}, 2).instances[0].shares_kernel);
}

// As all-to-alls are made, of PyTorch and others.
TEST_CASE("what a rank sends to itself is no message between ranks", "[collective]") {
    const auto of = [](int rank) {
        std::vector<CollectiveCall> calls;
        for (const int peer : {0, 1}) {
            calls.push_back(call(CollectiveOp::send, 1, 8, 5, peer));
            calls.push_back(call(CollectiveOp::recv, 1, 8, 5, peer));
        }
        calls.push_back(call(kReduce, 2, 64, rank == 0 ? 5 : 6));  // in one's kernel beside its messages
        return calls;
    };
    const Matched matched = match({of(0), of(1)}, 2);
    CHECK(matched.mismatches.empty());
    std::vector<std::string> lines;
    for (const CollectiveInstance& one : matched.instances) {
        CHECK(one.complete());
        CHECK(one.shares_kernel);
        lines.push_back(text(one));
    }
    std::sort(lines.begin(), lines.end());
    CHECK(lines == std::vector<std::string>{"allreduce #2 x1 64 of 2 from -1 to -1: 0@200 1@200",
                                            "send #1 x1 8 of 2 from 0 to 1: 0@100 1@100",
                                            "send #1 x1 8 of 2 from 1 to 0: 0@100 1@100"});
}

TEST_CASE("what goes back in sequence is left out and counted", "[collective]") {
    Matched matched;
    CommunicatorMatch matcher(1, {0}, matched.sink());
    int64_t group = 0;
    for (const int64_t sequence : {1, 2, 2, 1, 3}) matcher.take(0, call(kReduce, sequence, 64, ++group));
    matcher.end(0);
    CHECK(matched.instances.size() == 3);
    CHECK(matcher.left_out() == 2);
}

TEST_CASE("ranks that cannot be are left out and counted", "[collective]") {
    Matched matched;
    CommunicatorMatch matcher(2, {-1, 0, 7}, matched.sink());
    for (const int rank : {-1, 7, 1, 0}) matcher.take(rank, call(kReduce, 1, 64));
    matcher.take(0, call(CollectiveOp::send, 1, 8, -1, 7));
    for (const int rank : {-1, 7, 1, 0}) matcher.end(rank);
    matcher.take(0, call(kReduce, 2, 64));
    CHECK(matcher.left_out() == 4);
    REQUIRE(matched.instances.size() == 2);
    CHECK(matched.instances[0].parts.size() == 1);
    CHECK(matcher.waiting() == 0);
}

TEST_CASE("what is remembered is how far ranks are apart", "[collective]") {
    Matched matched;
    CommunicatorMatch matcher(2, {0, 1}, matched.sink());
    for (int64_t sequence = 0; sequence < 1000; ++sequence) {
        matcher.take(0, call(kReduce, sequence, 64));
        if (sequence >= 5) matcher.take(1, call(kReduce, sequence - 5, 64));
        CHECK(matcher.waiting() <= 6);
    }
    CHECK(matched.instances.size() >= 990);
}

TEST_CASE("any interleaving of the ranks gives the same", "[collective]") {
    constexpr int kRanks = 4;
    std::mt19937_64 random(7);
    Calls calls(kRanks);
    for (int64_t sequence = 0; sequence < 200; ++sequence) {
        const int64_t bytes = static_cast<int64_t>(random() % 4) * 64, group = sequence / (1 + sequence % 3);
        for (int rank = 0; rank < kRanks; ++rank) {
            const auto odd = random() % 40;
            if (odd == 0) continue;  // lost
            auto& own = calls[static_cast<size_t>(rank)];
            own.push_back(call(kReduce, sequence, odd == 1 ? 7 : bytes, group));
            if (sequence % 5 == rank)
                own.push_back(call(CollectiveOp::send, sequence, 8, 5000 + sequence, (rank + 1) % kRanks));
            if (sequence % 5 == (rank + kRanks - 1) % kRanks)
                own.push_back(call(CollectiveOp::recv, sequence, 8, 5000 + sequence, (rank + 3) % kRanks));
        }
    }
    const auto lines_of = [](const Matched& matched) {
        std::vector<std::string> lines;
        for (const CollectiveInstance& one : matched.instances) lines.push_back(text(one));
        for (const CollectiveMismatch& one : matched.mismatches)
            lines.push_back("mismatch " + std::to_string(one.sequence) + " " +
                            std::to_string(one.other_rank) + " " + std::to_string(one.other_value));
        std::sort(lines.begin(), lines.end());
        return lines;
    };
    const auto expected = lines_of(match(calls, kRanks));
    CHECK(expected.size() > 200);
    for (int round = 0; round < 30; ++round) {
        Matched matched;
        CommunicatorMatch matcher(kRanks, {0, 1, 2, 3}, matched.sink());
        std::vector<size_t> next(kRanks);
        for (int ended = 0; ended < kRanks;) {
            const auto rank = static_cast<size_t>(random() % kRanks);
            // Often many of one rank in a row.
            for (uint64_t burst = random() % (static_cast<uint64_t>(round) + 1) + 1;
                 burst > 0 && next[rank] <= calls[rank].size(); --burst) {
                if (next[rank] < calls[rank].size()) {
                    matcher.take(static_cast<int>(rank), calls[rank][next[rank]]);
                } else {
                    matcher.end(static_cast<int>(rank));
                    ++ended;
                }
                ++next[rank];
            }
        }
        CHECK(lines_of(matched) == expected);
    }
}

}  // namespace collective_match_test
