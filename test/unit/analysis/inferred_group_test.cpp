// Of which ranks collectives are where no trace says so: by when they end on all of them.
#include <catch2/catch.hpp>

#include "analysis/run/sql/inferred_group_name.h"
#include "made_ranks.h"

namespace inferred_group_test {

using namespace made;

namespace {

constexpr int64_t kMs = 1'000'000;

// Eight calls a rank that tell no communicator, 10 ms apart, from 1 to 8 ms long: who comes last has the
// shortest. `off`: how much later than the first rank's the second one's ends are.
template <class Off>
void call(Ranks& ranks, const Off& off, int from = 0) {
    for (int at = 0; at < 8; ++at)
        for (int rank = 0; rank < 2; ++rank) {
            if (rank == 1 && at < from) continue;
            NcclCall call;
            call.communicator = 0;  // no row
            const int64_t end_ns = (at + 1) * 10 * kMs + (rank == 1 ? off(at) : 0);
            const int64_t length_ns = ((at + rank) % 2 == 0 ? 1 : 5) * kMs;
            ranks[rank].nccl(end_ns - 9 * kMs, end_ns - length_ns, end_ns, call);
        }
    for (int rank = 0; rank < 2; ++rank) ranks[rank].trace.world_size = 2;
}

const char* const kGroups =
    "SELECT comm, ranks, parts, count(*), sum(wait_ns) / 1000000 FROM collective_instance GROUP BY 1, 2, 3";

std::string inferred(const char* ranks) { return std::string(kInferredGroup) + " 2 " + ranks; }

}  // namespace

//  rank 0   [█]   [█████]   [█]        ends 3 ms apart, always: by whose clock, nobody knows
//  rank 1   [█████]   [█]   [█████]
TEST_CASE("collectives of nobody knows which ranks are of all, if they end together", "[run_collectives]") {
    Ranks ranks(0);
    for (const char* host : {"a", "b"}) ranks.add(host);
    call(ranks, [](int at) { return 3 * kMs + at * 1000; });
    ranks.write();
    CHECK(ranks.ask(kGroups) == inferred("2 16 32"));
    CHECK(ranks.ask("SELECT comm, ranks, seen FROM communicator") == inferred("2"));
}

TEST_CASE("what a profile lacks at its begin is a collective of one rank", "[run_collectives]") {
    Ranks ranks(2, -1);
    call(
        ranks, [](int) { return 0; }, 2);
    ranks.write();
    CHECK(ranks.ask(kGroups) == inferred("1 2 -") + " | " + inferred("2 12 24"));
}

TEST_CASE("nothing is inferred where that is not sure", "[run_collectives]") {
    const auto groups = [](const auto& change) {
        Ranks ranks(2, -1);
        call(ranks, [](int) { return 0; });
        change(ranks);
        ranks.write();
        return ranks.ask("SELECT count(*) FROM communicator");
    };
    CHECK(groups([](Ranks&) {}) == "1");
    CHECK(groups([](Ranks& ranks) { ranks[1].trace.world_size = 4; }) == "0");
    CHECK(groups([](Ranks& ranks) { ranks[1].trace.rank = 0; }) == "0");
    CHECK(groups([](Ranks& ranks) { ranks[1].run("UPDATE collective SET bytes = 8192 WHERE seq = 1"); }) ==
          "0");
    // Of two groups, each with a stream of its own, which a step keeps in step.
    CHECK(groups([](Ranks& ranks) {
              for (const int rank : {0, 1})
                  ranks[rank].run(
                      "UPDATE collective SET stream_id = 1 WHERE enter_ns > (SELECT avg(enter_ns) FROM "
                      "collective)");
          }) == "0");
    // Of two groups that work alike and not together: each ends when its own ranks do.
    Ranks apart(2, -1);
    call(apart, [](int at) { return at % 3 * kMs / 2; });
    apart.write();
    CHECK(apart.ask("SELECT count(*) FROM communicator") == "0");
}

}  // namespace inferred_group_test
