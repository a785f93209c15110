#include "catch2/catch.hpp"
#include "made_ranks.h"

namespace together_test {

using namespace made;

namespace {

constexpr int64_t kMs = 1'000'000;
constexpr const char* kRows =
    "SELECT why, rank_id, step, of_ranks, offset_ns, clock, step_by FROM together_step ORDER BY 1, 2";

// Steps of 10 ms from `from_ns` on, in each a collective at 5 ms that takes 1 ms on all ranks; from the
// `first` on.
void loop(Rank& rank, int steps, int64_t from_ns = 0, int64_t first = 1) {
    rank.steps(steps, from_ns, 10 * kMs);
    for (int i = 0; i < steps; ++i) {
        const int64_t at_ns = from_ns + i * 10 * kMs + 5 * kMs;
        rank.nccl(at_ns, at_ns + 1000, at_ns + kMs, {.seq = first + i});
    }
}

void longest(Rank& rank, size_t step, int64_t more_ns) {
    rank.facts.steps[step].end_ns += more_ns;
    for (size_t i = step + 1; i < rank.facts.steps.size(); ++i) {
        rank.facts.steps[i].begin_ns += more_ns;
        rank.facts.steps[i].end_ns += more_ns;
    }
}

}  // namespace

TEST_CASE("one rank is drawn in its own typical and worst step", "[together]") {
    Ranks ranks(1);
    loop(ranks[0], 5);
    longest(ranks[0], 3, 500'000);
    ranks.write();
    CHECK(ranks.ask(kRows) == "typical 0 2 1 0 same collectives | worst 0 3 1 0 same collectives");
}

//   rank 0   |0 ──■1──|1 ──■2──|2 ──■3──|3 ──■4──|      step 2 is the longest on rank 1, where it is step 1
//   rank 1            |0 ──■2──|1 ──■3────|2 ──■4──|
TEST_CASE("ranks are drawn in one step, the one with the same collectives", "[together]") {
    Ranks ranks(2);
    loop(ranks[0], 4);
    loop(ranks[1], 3, 10 * kMs, 2);
    longest(ranks[1], 1, 500'000);
    ranks.write();
    CHECK(ranks.ask("SELECT rank_id, step FROM together_step WHERE why = 'worst' ORDER BY 1") == "0 2 | 1 1");
    CHECK(ranks.ask("SELECT count(*) FROM together_step t JOIN kept_step k USING (rank_id, step)") ==
          ranks.ask("SELECT count(*) FROM together_step"));
}

TEST_CASE("the clock of another host is told by collectives", "[together]") {
    Ranks ranks(0);
    ranks.add("a").communicator("c", 0, 2);
    ranks.add("b").communicator("c", 1, 2);
    loop(ranks[0], 4);
    loop(ranks[1], 4, 7'000 * kMs);
    ranks.write();
    CHECK(ranks.ask("SELECT rank_id, clock, offset_ns / 1000000, clock_error_ns < 2000000 FROM together_step"
                    " WHERE why = 'typical'") == "0 same 0 - | 1 collectives -7000 1");
}

//   host a   |0 ────|1 ────|2 ────|3 ────|              real time is 100 ms behind on b's clock, so what is
//   host b          |0 ────|1 ────|2 ────|3 ────|       its step 1 there is step 2 here
TEST_CASE("of hosts that never met the wall clocks tell which step it is", "[together]") {
    Ranks ranks(0);
    ranks.add("a");
    ranks.add("b");
    for (int rank = 0; rank < 2; ++rank) {
        ranks[rank].steps(4, rank * 110 * kMs, 10 * kMs);
        ranks[rank].run("INSERT INTO meta VALUES ('started_mono_ns', 0), ('started_real_ns', " +
                        std::to_string(rank * -100 * kMs) + ")");
    }
    longest(ranks[0], 2, 1000);
    ranks.write();
    CHECK(ranks.ask("SELECT rank_id, step, of_ranks, offset_ns, clock, clock_error_ns, step_by"
                    " FROM together_step WHERE why = 'worst'") ==
          "0 2 2 0 same - time | 1 1 2 -100000000 wall - time");
}

TEST_CASE("a rank without a step at that time is not drawn", "[together]") {
    Ranks ranks(0);
    ranks.add("a").steps(4, 0, 10 * kMs);
    ranks.add("a").steps(4, 1'000 * kMs, 10 * kMs);
    ranks.write();
    CHECK(ranks.ask("SELECT DISTINCT rank_id, of_ranks FROM together_step") == "0 1");
}

//   rank 0   |0 ────|1 ────|2 ────|3 ────|       slices: the middle of 2, of which the excerpt is, lies in 1
//   rank 1        |0 ────|1 ────|2 ────|3 ────|  of rank 1; that the collectives of 2 are in its 2 is nothing
TEST_CASE("without steps the ranks are drawn in one excerpt, by time", "[together]") {
    Ranks ranks(2);
    loop(ranks[0], 4);
    loop(ranks[1], 4, 6 * kMs);
    for (int rank = 0; rank < 2; ++rank) ranks[rank].facts.are_slices = true;
    ranks.run().add("kept_step",
                    {int64_t{0}, int64_t{2}, std::string("excerpt"), int64_t{0}, int64_t{0}, int64_t{0}});
    ranks.write();
    CHECK(ranks.ask("SELECT why, rank_id, step, of_ranks, own_work_ns, step_by FROM together_step"
                    " ORDER BY 2") == "excerpt 0 2 2 - time | excerpt 1 1 2 - time");
    CHECK(ranks.ask("SELECT why FROM kept_step WHERE rank_id = 1") == "excerpt of all ranks");
}

TEST_CASE("of a run in which some rank has steps there is no excerpt", "[together]") {
    Ranks ranks(2);
    loop(ranks[0], 4);
    loop(ranks[1], 4);
    ranks[1].facts.are_slices = true;
    ranks.run().add("kept_step",
                    {int64_t{1}, int64_t{2}, std::string("excerpt"), int64_t{0}, int64_t{0}, int64_t{0}});
    ranks.write();
    CHECK(ranks.ask("SELECT DISTINCT why, rank_id FROM together_step ORDER BY 1") == "typical 0 | worst 0");
}

TEST_CASE("of many ranks eight are drawn: the straggler, both ends, and some between", "[together]") {
    Ranks ranks(20);
    for (int rank = 0; rank < 20; ++rank) {
        loop(ranks[rank], 3);
        for (int step = 0; step < 3; ++step)
            ranks.run().add("gpu_step",
                            {int64_t{10 + rank}, int64_t{step}, 10 * kMs, nullptr, nullptr, nullptr, nullptr,
                             nullptr, nullptr, nullptr, nullptr, nullptr, int64_t{1000 + (rank + 5) % 20}});
        ranks.run().run(("INSERT INTO gpu (gpu_id, rank_id) VALUES (" + std::to_string(10 + rank) + ", " +
                         std::to_string(rank) + ")")
                            .c_str());
    }
    ranks.run().run(
        "INSERT INTO skew (comm, straggler_rank) VALUES ('s', 3);"
        "INSERT INTO skew_rank (comm, comm_rank, rank_id) VALUES ('s', 3, 3)");
    ranks.write();
    CHECK(ranks.ask("SELECT count(*), min(of_ranks), max(own_work_ns), min(own_work_ns),"
                    " sum(is_straggler AND rank_id = 3) FROM together_step WHERE why = 'typical'") ==
          "8 20 1019 1000 1");
}

}  // namespace together_test
