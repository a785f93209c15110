// The note of a GPU that a process has a context on, and does not use.
#include <catch2/catch.hpp>

#include "run_rows.h"

namespace unused_gpus_test {

using namespace made;

namespace {

// Each process works on one GPU and has a row of a second one; the first process's second is unused.
RunRows held(std::optional<double> busy_share, int64_t processes = 1, int64_t steps = 5) {
    RunRows run;
    for (int64_t rank = 0; rank < processes; ++rank) {
        run.rank(rank);
        for (int64_t step = 0; step < steps; ++step)
            run.add("step", {{"rank_id", rank}, {"step", step}, {"number", step}, {"dur_ns", 20 * kMs}});
        run.add("gpu", {{"gpu_id", 50 + rank},
                        {"rank_id", rank},
                        {"busy_share", maybe(busy_share)},
                        {"unused", rank == 0 ? Value(int64_t{1}) : Value(nullptr)}});
    }
    return run;
}

}  // namespace

TEST_CASE("a context on a GPU that nothing runs on in steps", "[rule][unused_gpus]") {
    const auto found = held(0.005).look("unused_gpus");
    REQUIRE(found);
    CHECK(found->kind == Kind::kNote);
    CHECK(found->title == "the program has contexts on 2 GPUs, and ran nothing in steps on one of them");
    CHECK(held(0.005, 3).look("unused_gpus")->title ==
          "1 of 3 processes has a context on a GPU on which it ran nothing in steps");
    CHECK(!held(0.02).look("unused_gpus"));
    CHECK(!held({}).look("unused_gpus"));  // not known
    CHECK(!held(0.005, 1, 4).look("unused_gpus"));
}

//  rank 0   ███ ███ ███ ███ ███
//  rank 1   ──────────────────      logs
TEST_CASE("a process without steps, whose GPU does next to nothing", "[rule][unused_gpus]") {
    const auto beside = [](std::optional<double> busy_share, int64_t steps = 5) {
        RunRows run;
        run.rank(0).rank(1, "none");
        for (int64_t step = 0; step < steps; ++step)
            run.add("step", {{"rank_id", 0}, {"step", step}, {"number", step}, {"dur_ns", 20 * kMs}});
        run.change("UPDATE gpu SET busy_share = " + (busy_share ? std::to_string(*busy_share) : "NULL") +
                   " WHERE rank_id = 1");
        return run.look("unused_gpus");
    };
    const auto found = beside(0.001);
    REQUIRE(found);
    CHECK(found->kind == Kind::kNote);
    CHECK(found->title ==
          "1 of 2 processes (rank 1) has no steps, and kept its GPU busy for less than 1 % of the run");
    CHECK(!beside(0.02));  // an evaluation beside the training
    CHECK(!beside({}));    // not known
    CHECK(!beside(0.001, 4));
}

}  // namespace unused_gpus_test
