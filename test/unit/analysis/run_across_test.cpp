// GPUs of all ranks beside each other, step by step, written from hand-made traces and rows of the parts.
#include <catch2/catch.hpp>

#include "made_ranks.h"

namespace run_across_test {

using namespace made;

// GPUs 10 and 11, a process each, one begins 40 later; they run one after the other.
//
//   GPU 10   ├100 ──[110 ████ 400]                    busy 290, idle 710
//   GPU 11   ├140 ─────────────────[400 ███ 600]      busy 200, idle 800
TEST_CASE("GPUs of two processes beside each other", "[run_across]") {
    Ranks ranks(2);
    for (int rank = 0; rank < 2; ++rank) {
        ranks[rank].steps(2, 0, 1000);
        const int64_t gpu = 10 + rank, busy_ns = rank == 0 ? 290 : 200, first_ns = 100 + 40 * rank;
        ranks[rank].launch(first_ns, kGemmShape, 1);
        ranks[rank].device(first_ns, rank == 0 ? 110 : 400, rank == 0 ? 400 : 600);
        RunDb& run = ranks.run();
        add_step(run, rank, 0, {1000, busy_ns, first_ns, 900 + 100 * rank});
        run.add("activity", {gpu, int64_t{0}, int64_t{1}, busy_ns});
        run.add("activity", {gpu, int64_t{0}, int64_t{0}, 1000 - busy_ns});
    }
    // Only one of them knows step 1.
    add_step(ranks.run(), 0, 1, {1000, 0, 0, 1000});
    ranks.write();
    // imbalance 290 / 245 - 1, skew (1000 - 950) / 950
    CHECK(ranks.ask("SELECT step, gpus, stagger_ns, stagger_idle_ns, first_order, round(imbalance, 4),"
                    " round(step_skew, 4), sequential_index FROM across") ==
          "0 2 40 40 10,11 0.1837 0.0526 1.0");
}

//   GPU 10   |0 ──[████]──────|
//   GPU 11             |0 ──[████]──────|          steps of one number, which are not one step
TEST_CASE("steps that hardly overlap are not one after the other", "[run_across]") {
    const auto index_of = [](int64_t later_ns) {
        Ranks ranks(2);
        for (int64_t rank = 0; rank < 2; ++rank) {
            const int64_t begin_ns = rank * later_ns;
            ranks[static_cast<int>(rank)].steps(1, begin_ns, 1000);
            ranks[static_cast<int>(rank)].launch(begin_ns + 100, kGemmShape, 1);
            ranks[static_cast<int>(rank)].device(begin_ns + 100, begin_ns + 110, begin_ns + 400);
            add_step(ranks.run(), rank, 0, {1000, 290, 100, 900});
        }
        ranks.write();
        return ranks.ask("SELECT sequential_index FROM across");
    };
    CHECK(index_of(740) == "1.0");
    CHECK(index_of(760) == "-");
}

// The same without steps: the processes' slices begin 100 apart, and the other's first is the rest of the
// time.
//
//   slices of 10     |0 ────────────|1 ─────────────|          GPU 10 works 100 to 300 and 1100 to 1300
//   slices of 11       |0 ────────────|1 ─────────────|        GPU 11 likewise, at the same time
TEST_CASE("slices of two processes are compared by time", "[run_across]") {
    Ranks ranks(2);
    for (int rank = 0; rank < 2; ++rank) {
        ranks[rank].steps(2, 100 * rank, 1000);
        ranks[rank].facts.are_slices = true;
        for (int64_t slice = 0; slice < 2; ++slice) {
            ranks[rank].launch(1000 * slice + 100, kGemmShape, 1);
            ranks[rank].device(1000 * slice + 100, 1000 * slice + 100, 1000 * slice + 300);
            add_step(ranks.run(), rank, slice, {1000, 200, 100 - 100 * rank, 300});
            ranks.run().add("activity", {int64_t{10 + rank}, slice, int64_t{1}, 200 + 100 * rank * slice});
        }
    }
    ranks.write();
    // Load 400 and 500: 500 / 450 - 1.
    CHECK(ranks.ask("SELECT step, stagger_ns, first_order, round(imbalance, 4), step_skew, sequential_index"
                    " FROM across ORDER BY step") == "0 - - 0.1111 - 0.0 | 1 - - - - 0.0");
}

// GPU 11 was given something in the step that has no times: nobody knows what ran together.
TEST_CASE("the sequential index needs all of both GPUs' work", "[run_across]") {
    Ranks ranks(2);
    for (int rank = 0; rank < 2; ++rank) {
        ranks[rank].steps(1, 0, 1000);
        ranks[rank].launch(100, kGemmShape, 1);
        if (rank == 0) ranks[rank].device(100, 110, 400);
        add_step(ranks.run(), rank, 0, {1000, 0, 100, 900});
    }
    ranks[1].launch(200, kGemmShape, 1);
    ranks[1].device(200, 410, 500);
    ranks.write();
    CHECK(ranks.ask("SELECT stagger_ns, sequential_index FROM across") == "0 -");
}

// Steps of rank 1 are one ahead: its first is what rank 0 calls its second.
TEST_CASE("steps of ranks are put beside each other by their collectives", "[run_across]") {
    Ranks ranks(2);
    NcclCall call;
    for (int64_t step = 0; step < 3; ++step, ++call.seq) {
        ranks[0].nccl(1000 * step + 50, 1000 * step + 100, 1000 * step + 160, call);
        ranks[1].nccl(1000 * step + 60, 1000 * step + 140, 1000 * step + 160, call);
    }
    ranks[0].steps(3, 0, 1000);
    ranks[1].steps(2, 1000, 1000);
    for (int64_t rank = 0; rank < 2; ++rank)
        for (int64_t step = 0; step < (rank == 0 ? 3 : 2); ++step)
            add_step(ranks.run(), rank, step, {1000, 0, 100 + 10 * rank, 900});
    ranks.write();
    CHECK(ranks.ask("SELECT step, stagger_ns FROM across ORDER BY step") == "1 10 | 2 10");
}

// One works prompts through, 1000 each, the other one decodes in steps of 200: nothing is a step of both.
TEST_CASE("processes whose steps are not the same ones are not compared by them", "[run_across]") {
    const auto rows_of = [](int64_t length_ns) {
        Ranks ranks(2);
        ranks[0].steps(2, 0, 1000);
        ranks[1].steps(2, 0, length_ns);
        for (int64_t rank = 0; rank < 2; ++rank)
            for (int64_t step = 0; step < 2; ++step)
                add_step(ranks.run(), rank, step, {rank == 0 ? 1000 : length_ns, 0, 100, 150});
        ranks.write();
        return ranks.ask("SELECT count(*) FROM across");
    };
    CHECK(rows_of(200) == "0");
    CHECK(rows_of(900) == "2");
}

// GPU 10 computes 130, the others 100, and runs a kernel that they do not.
TEST_CASE("the first GPU does more than the others", "[run_across]") {
    const auto made = [](bool has_own_kernel) {
        auto ranks = std::make_unique<Ranks>(3);
        for (int64_t rank = 0; rank < 3; ++rank) {
            RunDb& run = ranks->run();
            run.add("activity", {10 + rank, int64_t{0}, int64_t{1}, int64_t{rank == 0 ? 130 : 100}});
            const auto kernel = [&](const char* name) {
                Query insert(run.raw(), "run", "INSERT INTO kernel (gpu_id, name) VALUES (?1, ?2)");
                insert.bind(1, 10 + rank);
                insert.bind(2, std::string(name));
                insert.step();
            };
            kernel("gemm");
            if (has_own_kernel && rank == 0) kernel("evaluate");
        }
        ranks->write();
        return ranks;
    };
    CHECK(made(true)->ask("SELECT gpu_id, round(excess, 2), only_kernels, names, p2p_bytes FROM first_gpu") ==
          "10 0.3 1 evaluate 0");
    CHECK(made(false)->ask("SELECT count(*) FROM first_gpu") == "0");
}

}  // namespace run_across_test
