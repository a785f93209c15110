// The run's views of kernels and copies, and other tools' breakdowns, from rows that are put in by hand.
#include "made_facts.h"

#include <catch2/catch.hpp>

#include <string>
#include <vector>

namespace run_views_test {

using namespace made;

namespace {

struct Run : Written {
    Run() {
        insert("INSERT INTO rank (rank_id, rank) VALUES (7, 3)");
        insert("INSERT INTO gpu (gpu_id, rank_id, uuid, timed_share) VALUES (20, 7, 'GPU-0', 1.0)");
    }
    void also(const std::string& sql) { insert("INSERT INTO " + sql); }
};

}  // namespace

// Of a: 100, 200, 300 ns; of b: 400.
TEST_CASE("nsys' kernel summary: shares, averages, spread of a sample", "[run_views]") {
    Run run;
    run.also(
        "kernel (gpu_id, name, launches, graph_launches, timed, sum_ns, union_ns, small, min_ns, max_ns,"
        " p50_ns, squares_ns2) VALUES (20, 'a', 5, 10, 3, 600, 500, 1, 100, 300, 200, 140000.0),"
        " (20, 'b', 1, 0, 1, 400, 400, 0, 400, 400, 400, 160000.0), (20, 'c', 9, 0, 0, 0, 0, 0, NULL,"
        " NULL, NULL, NULL)");
    run.finish();
    CHECK(run.ask("SELECT * FROM compat_nsys_kern_sum") == "60.0 600 3 200.0 200.0 100 300 100.0 a");
    CHECK(run.ask("SELECT * FROM compat_nsys_kern_sum WHERE Name = 'b'") ==
          "40.0 400 1 400.0 400.0 400 400 0.0 b");
    CHECK(run.ask("SELECT count(*) FROM compat_nsys_kern_sum") == "2");
    CHECK(run.ask("SELECT rank, gpu, executed, mean_ns, share, small_share FROM v_kernel WHERE name = 'a'") ==
          "3 GPU-0 15 200.0 0.6 0.333333333333333");
    CHECK(run.ask("SELECT executed, mean_ns, share, small_share FROM v_kernel WHERE name = 'c'") ==
          "9 - 0.0 -");
}

//  steps     warm-up |0────|1────|2──
//  windows   |██|  or  |██|
TEST_CASE("start-up and warm-up tell nothing of the steps that count", "[run_views]") {
    const auto basis = [](const std::string& timed_until_ns) {
        Run run;
        run.also(
            "step (rank_id, step, number, begin_ns, dur_ns, warm_up, left_out) VALUES"
            " (7, 0, 1, 0, 1000, 1, 0), (7, 1, 2, 1000, 1000, 0, 0), (7, 2, 3, 2000, 1000, 0, 0)");
        run.also("gpu_step (gpu_id, step, window_ns) VALUES (20, -1, 400), (20, 0, 1000)");
        run.insert("UPDATE rank SET steps_source = 'detected'");
        run.insert("UPDATE gpu SET timed_until_ns = " + timed_until_ns);
        run.finish();
        return run.ask("SELECT count(*) FROM v_gpu_basis WHERE basis = 'spans'");
    };
    CHECK(basis("900") == "0");
    CHECK(basis("1500") == "1");  // part of a step that counts, not the warm-up beside it
    CHECK(basis("NULL") == "1");
}

//  launched   |── all of it ──|
//  ran                  |▒▒▒▒▒▒|0|1|2|   6 units before the steps, in each 2
TEST_CASE("what GPUs did outside of steps counts as steps where no call tells", "[run_views]") {
    const auto whole_steps = [](const std::string& outside, const std::string& last,
                                const std::string& before = "600", const std::string& timed_share = "1",
                                const std::string& column = "whole_steps") {
        Run run;
        run.also(
            "step (rank_id, step, number, begin_ns, dur_ns) VALUES (7, 0, 1, 600, 200), (7, 1, 2, 800, 200),"
            " (7, 2, 3, 1000, 200)");
        run.also("gpu_step (gpu_id, step, busy_low_ns, busy_high_ns, operations) VALUES (20, -1, " + before +
                 ", " + before + ", 50), (20, 0, 200, 200, 5), (20, 1, 200, 200, 5), (20, 2, " + last + ")");
        run.insert("UPDATE rank SET steps_source = 'ranges', outside_steps = " + outside);
        run.insert("UPDATE gpu SET timed_share = " + timed_share);
        run.finish();
        return run.ask("SELECT " + column + " FROM v_run_steps");
    };
    const std::string late = "200, 200, 0", empty = "0, 0, 0";
    CHECK(whole_steps("NULL", late) == "6.0");
    CHECK(whole_steps("NULL", late, "200") == "4.0");
    CHECK(whole_steps("NULL", late, "900000") == "6.0");  // most of it is a start
    CHECK(whole_steps("NULL", "200, 200, 5") == "3.0");   // a start-up, perhaps
    CHECK(whole_steps("NULL", empty) == "3.0");           // nothing ran in it
    CHECK(whole_steps("NULL", late, "600", "0.15") == "3.0");
    CHECK(whole_steps("NULL", late, "600", "NULL") == "3.0");
    CHECK(whole_steps("1", late) == "4.0");
    // How much was timed does not matter for what no call tells.
    CHECK(whole_steps("NULL", late, "600", "0.15", "typeof(recorded_steps)") == "null");
    CHECK(whole_steps("NULL", empty, "600", "0.15", "recorded_steps") == "3.0");
}

//  steps       one outside, |0|1|2|, of 1 us; before them 40 launches, in them 3 each
TEST_CASE("what kernels did in steps is held apart from what they did outside of them", "[run_views]") {
    const auto asked = [](const std::string& rank, const std::string& kernel, const std::string& columns,
                          const std::string& view = "v_kernel_work") {
        Run run;
        run.also(
            "step (rank_id, step, number, begin_ns, dur_ns) VALUES (7, 0, 1, 1000, 1000),"
            " (7, 1, 2, 2000, 1000), (7, 2, 3, 3000, 1000)");
        run.also(
            "kernel (gpu_id, name, launches, graph_launches, timed, sum_ns, in_steps, timed_in_steps,"
            " in_steps_ns) VALUES (20, 'k', " +
            kernel + ")");
        run.also("launch_stat (gpu_id, stream_id, count, in_steps) VALUES (20, 1, 49, 9)");
        run.insert("UPDATE rank SET " + rank);
        run.finish();
        return run.ask("SELECT " + columns + " FROM " + view);
    };
    const std::string all = "executed, timed, timed_ns, is_guessed";
    const std::string detected = "steps_source = 'detected', outside_steps = ";
    CHECK(asked(detected + "0", "40, 9, 30, 90, 9, 6, 60", all) == "9.0 6 60 0");
    CHECK(asked(detected + "0", "40, 9, 30, 90, 9, 0, 0", all) == "9.0 30 90 1");
    CHECK(asked(detected + "0", "49, 0, 0, 0, 9, 0, 0", all) == "9.0 0 0 0");
    CHECK(asked(detected + "0", "40, 0, 30, 90, 0, 0, 0", all) == "0.0 0 0 0");
    CHECK(asked(detected + "0", "40, 9, 30, 90, 9, 6, 60), (20, 'never in steps', 40, 0, 30, 90, 0, 0, 0",
                "sum(timed_ns) / sum(timed)") == "10");
    // Four steps' work over four steps, as three over three.
    CHECK(asked(detected + "1", "40, 9, 30, 90, 9, 6, 60", all) == "12.0 6 60 0");
    CHECK(asked("steps_source = 'none'", "40, 9, 30, 90, NULL, NULL, NULL", all) == "49 30 90 0");
    CHECK(asked(detected + "0, rows_gone = 1, marked_steps = 7", "40, 9, 30, 90, 9, 6, 60", all) ==
          "49 30 90 0");
    CHECK(asked(detected + "0", "40, 9, 30, 90, 9, 6, 60", "executed", "v_launch_work") == "9.0");
    CHECK(asked("steps_source = 'none'", "40, 9, 30, 90, NULL, NULL, NULL", "executed", "v_launch_work") ==
          "49");
}

//  a start-up tunes: 900 ns of products in small grids without tensor cores; steps: 60 of others, 40 of all
//  else
TEST_CASE("what kernels are is told of those in steps", "[run_views]") {
    const auto shares = [](const std::string& source) {
        Run run;
        run.also(
            "step (rank_id, step, number, begin_ns, dur_ns) VALUES (7, 0, 1, 1000, 1000),"
            " (7, 1, 2, 2000, 1000)");
        run.also(
            "kernel (gpu_id, name, eligible, tensor_core, launches, timed, sum_ns, in_steps, timed_in_steps,"
            " in_steps_ns, small_grid, small_grid_ns) VALUES"
            " (20, 'tuned', 1, 'unknown', 90, 90, 900, 0, 0, 0, 90, 900),"
            " (20, 'used', 1, 'yes', 12, 12, 120, 6, 6, 60, 6, 60),"
            " (20, 'else', 0, 'no', 4, 4, 40, 4, 4, 40, 0, 0)");
        run.insert("UPDATE rank SET outside_steps = 0, steps_source = '" + source + "'");
        run.finish();
        return run.ask(
            "SELECT group_concat(round(value, 2), ' ') FROM (SELECT value FROM metric WHERE name IN"
            " ('eligible_share', 'small_grid_share', 'tensor_core_share', 'tensor_core_unknown_share')"
            " ORDER BY name)");
    };
    CHECK(shares("detected") == "0.6 0.3 1.0 0.0");
    CHECK(shares("none") == "0.96 0.91 0.12 0.88");  // of all
}

//  GPU 20 works in both steps; 21 of the same process in none, or in one
TEST_CASE("a GPU that nothing ran on in steps is in no mean, if its process has another", "[run_views]") {
    using Statements = std::vector<std::string>;
    const auto asked = [](const Statements& more, const std::string& what) {
        Run run;
        run.also("gpu (gpu_id, rank_id, uuid, timed_share) VALUES (21, 7, 'GPU-1', 1.0)");
        run.also(
            "step (rank_id, step, number, begin_ns, dur_ns) VALUES (7, 0, 1, 0, 1000), (7, 1, 2, 1000, "
            "1000)");
        run.also(
            "gpu_step (gpu_id, step, operations, busy_low_ns) VALUES (21, -1, 90, 90), (20, 0, 5, 500),"
            " (20, 1, 5, 500), (21, 0, 0, 0), (21, 1, 0, 0)");
        run.also(
            "activity (gpu_id, step, classes, ns) VALUES (20, 0, 1, 1000), (20, 1, 1, 1000), (21, 0, 0, "
            "1000),"
            " (21, 1, 0, 1000)");
        run.insert("UPDATE rank SET steps_source = 'detected'");
        for (const std::string& statement : more) run.insert(statement);
        run.finish();
        return run.ask(what);
    };
    const Statements none;
    const std::string counted = "SELECT group_concat(gpu_id, ' ') FROM v_gpu_total";
    CHECK(asked(none, counted) == "20");
    CHECK(asked(none, "SELECT value, why FROM metric WHERE name = 'idle_share' AND id = 21") ==
          "- nothing ran on it in steps, and its process worked on another GPU");
    // It works there, its only GPU is this one, or the other does nothing, either.
    CHECK(asked({"UPDATE gpu_step SET operations = 1 WHERE gpu_id = 21 AND step = 1"}, counted) == "20 21");
    CHECK(asked({"UPDATE gpu_step SET busy_low_ns = 1 WHERE gpu_id = 21 AND step = 1"}, counted) == "20 21");
    CHECK(asked({"INSERT INTO kernel (gpu_id, name, in_steps) VALUES (21, 'k', 1)"}, counted) == "20 21");
    // What is called there counts where no step was timed as a whole, too; of memsets nobody knows.
    const std::string unseen = "DELETE FROM gpu_step WHERE step >= 0 AND gpu_id = 21",
                      unused = "SELECT group_concat(gpu_id, ' ') FROM v_unused_gpu";
    CHECK(asked({unseen}, unused) == "21");
    CHECK(asked({unseen, "INSERT INTO launch_stat (gpu_id, stream_id, in_steps) VALUES (21, 1, 1)"},
                unused) == "-");
    CHECK(asked({unseen, "INSERT INTO copy_stat (gpu_id, stream_id, steps) VALUES (21, 1, 1)"}, unused) ==
          "-");
    CHECK(asked({unseen, "INSERT INTO memset_stat (gpu_id, stream_id) VALUES (21, 1)"}, unused) == "-");
    CHECK(asked({"INSERT INTO memset_stat (gpu_id, stream_id) VALUES (21, 1)"}, unused) == "21");
    CHECK(
        asked({"UPDATE gpu SET rank_id = 8 WHERE gpu_id = 21",
               "INSERT INTO rank (rank_id, steps_source) VALUES (8, 'detected')",
               "INSERT INTO step (rank_id, step, number, begin_ns, dur_ns) SELECT 8, step, number, begin_ns,"
               " dur_ns FROM step"},
              counted) == "20 21");
    CHECK(asked({"UPDATE gpu_step SET operations = 0, busy_low_ns = 0"}, counted) == "20 21");
}

TEST_CASE("how many operations in steps have times is of those that count", "[run_views]") {
    const auto coverage = [](const std::string& sql) {
        Run run;
        run.also(
            "step (rank_id, step, number, begin_ns, dur_ns, warm_up) VALUES (7, 0, 1, 0, 1000, 1),"
            " (7, 1, 2, 1000, 1000, 0), (7, 2, 3, 2000, 1000, 0)");
        run.also(
            "gpu_step (gpu_id, step, operations, timed) VALUES (20, -1, 900, 0), (20, 0, 90, 0),"
            " (20, 1, 10, 9), (20, 2, 30, 25)");
        run.insert("UPDATE rank SET steps_source = 'detected'");
        run.insert(sql);
        run.finish();
        return run.ask("SELECT coverage FROM step_work");
    };
    CHECK(coverage("UPDATE rank SET micro_steps = 1") == "0.85");
    CHECK(coverage("INSERT INTO unlike_steps VALUES (20)") == "-");
    CHECK(coverage("UPDATE rank SET steps_source = 'none'") == "-");
    CHECK(coverage("DELETE FROM gpu_step WHERE step >= 0") == "-");
}

//  calls   |1|2|3|4----|     each launches 3 kernels of 100; the last one waits for all of them
TEST_CASE("a host is ahead where most steps launch more than they take", "[run_views]") {
    const auto ahead = [](const std::string& sql) {
        Run run;
        run.also(
            "step (rank_id, step, number, begin_ns, dur_ns) VALUES (7, 0, 1, 0, 10), (7, 1, 2, 10, 10),"
            " (7, 2, 3, 20, 10), (7, 3, 4, 30, 1170)");
        run.also("gpu_step (gpu_id, step, operations) VALUES (20, 0, 3), (20, 1, 3), (20, 2, 3), (20, 3, 3)");
        run.also("kernel (gpu_id, name, launches, timed, sum_ns) VALUES (20, 'k', 12, 10, 1000)");
        run.insert("UPDATE rank SET steps_source = 'detected'");
        run.insert(sql);
        run.finish();
        return run.ask("SELECT rank_id, median_ns, mean_ns, work_ns FROM v_host_ahead");
    };
    CHECK(ahead("UPDATE rank SET micro_steps = 1") == "7 10 300.0 300.0");
    // What the long one takes is its own work, an evaluation; or the host's; or all are as long.
    CHECK(ahead("UPDATE gpu_step SET operations = 90 WHERE step = 3") == "no row");
    CHECK(ahead("UPDATE kernel SET sum_ns = 60") == "no row");
    CHECK(ahead("UPDATE step SET dur_ns = 300") == "no row");
    CHECK(ahead("UPDATE rank SET steps_source = 'none'") == "no row");
    CHECK(ahead("UPDATE kernel SET family = 'comm'") == "no row");  // it waits for a peer that stands still
}

// 334351, 336623 and 491302 ns: a published report of nsys says that they spread by 89967.0.
TEST_CASE("nsys' summary of calls", "[run_views]") {
    Run run;
    run.also(
        "api_stat VALUES (7, 'cuMemcpy', 3, 1162276, 334351, 491302, 3, 1162276, 466483290534.0, 336623),"
        " (8, 'cuInit', 1, 1162276, 1162276, 1162276, 0, 0, 0, NULL)");
    run.finish();
    CHECK(run.ask("SELECT \"Time (%)\", \"Total Time (ns)\", \"Num Calls\", round(\"Avg (ns)\", 1),"
                  " \"Med (ns)\", \"Min (ns)\", \"Max (ns)\", round(\"StdDev (ns)\", 1), \"Name\""
                  " FROM compat_nsys_api_sum WHERE Name = 'cuMemcpy'") ==
          "50.0 1162276 3 387425.3 336623.0 334351 491302 89967.0 cuMemcpy");
    CHECK(run.ask("SELECT \"Med (ns)\", \"StdDev (ns)\" FROM compat_nsys_api_sum WHERE Name = 'cuInit'") ==
          "- -");
}

// h2d: two of 4 MB, one of 1 MB, in two rows; memset of which rows are gone.
TEST_CASE("nsys' summary of sizes", "[run_views]") {
    Run run;
    const std::string columns =
        "copy_stat (gpu_id, stream_id, kind, source, target, blocking, position, bytes_each, count, bytes,"
        " min_bytes, max_bytes, squares_bytes2, timed, sum_ns, timed_bytes, best_bytes_per_s) VALUES ";
    run.also(columns +
             "(20, 1, 'h2d', 'pinned', 'device', 0, 0, 4194304, 2, 8000000, 4000000, 4000000, 3.2e13,"
             " 2, 2000000, 8000000, 5e9),"
             " (20, 1, 'h2d', 'pinned', 'device', 0, 1, 1048576, 1, 1000000, 1000000, 1000000, 1e12,"
             " 1, 1000000, 1000000, 1e9)");
    run.also("memset_stat VALUES (20, 1, 4, 8000000, NULL, NULL, NULL, 0, 0)");
    run.finish();
    CHECK(run.ask("SELECT \"Total (MB)\", \"Count\", \"Avg (MB)\", \"Med (MB)\", \"Min (MB)\", \"Max (MB)\","
                  " round(\"StdDev (MB)\", 3) FROM compat_nsys_mem_size_sum"
                  " WHERE Operation = '[CUDA memcpy Host-to-Device]'") == "9.0 3 3.0 4.0 1.0 4.0 1.732");
    CHECK(run.ask(
              "SELECT \"Total (MB)\", \"Count\", \"Med (MB)\", \"StdDev (MB)\" FROM compat_nsys_mem_size_sum"
              " WHERE Operation = '[CUDA memset]'") == "8.0 4 - -");
    CHECK(run.ask("SELECT achieved_bytes_per_s, best_seen_bytes_per_s FROM v_copy_stat WHERE position = 1") ==
          "1000000000.0 5000000000.0");
}

TEST_CASE("RPD's top and busy", "[run_views]") {
    Run run;
    run.also("gpu (gpu_id, rank_id, uuid, timed_share) VALUES (21, 7, 'GPU-1', 1.0)");
    run.also(
        "kernel (gpu_id, name, timed, sum_ns) VALUES (20, 'a', 2, 60000), (21, 'a', 1, 9000),"
        " (20, 'b', 0, 0)");
    run.also(
        "copy_stat (gpu_id, stream_id, kind, source, target, blocking, position, bytes_each, timed, sum_ns)"
        " VALUES (20, 1, 'h2d', '', '', 0, 0, 8, 3, 31000)");
    run.also(
        "stream_stat (gpu_id, stream_id, busy_ns, first_ns, last_ns) VALUES (20, 1, 60000, 1000, 51000),"
        " (20, 2, 31000, 5000, 40000), (21, 3, 9000, 11000, 20000)");
    run.also("activity VALUES (20, 0, 0, 70000), (20, 0, 1, 40000)");  // known before and behind, too
    run.finish();
    CHECK(run.ask("SELECT * FROM compat_rpd_top") == "a 3 69 23 69.0");
    CHECK(run.ask("SELECT * FROM compat_rpd_top WHERE Name = 'CopyHostToDevice'") ==
          "CopyHostToDevice 3 31 10 31.0");
    CHECK(run.ask("SELECT count(*) FROM compat_rpd_top") == "2");
    CHECK(run.ask("SELECT * FROM compat_rpd_busy") ==
          "20 91 50 1.82");  // more than all of the time: RPD's way
    CHECK(run.ask("SELECT Busy FROM compat_rpd_busy WHERE gpuId = 21") == "0.18");
}

TEST_CASE("RPD's busy of a sampled run is of its windows", "[run_views]") {
    Run run;
    run.also("activity VALUES (20, -1, 0, 60000), (20, -1, 1, 40000)");
    run.also("stream_stat (gpu_id, stream_id, busy_ns, first_ns, last_ns) VALUES (20, 1, 40000, 0, 1000000)");
    run.finish();
    CHECK(run.ask("SELECT * FROM compat_rpd_busy") == "20 40 100 0.4");
}

// A step of 1000: kernels 300, of them 100 beside a collective; d2h 40; p2p 30; a collective alone 50 and 20
// of wait; h2d 60; memset 25; idle 475.
TEST_CASE("TensorFlow's and PyTorch's breakdown of a step are the step", "[run_views]") {
    Run run;
    run.also(
        "activity VALUES (20, 0, 1, 200), (20, 0, 3, 100), (20, 0, 16, 40), (20, 0, 64, 30), (20, 0, 2, 50),"
        " (20, 0, 4, 20), (20, 0, 8, 60), (20, 0, 128, 25), (20, 0, 0, 475), (20, -1, 0, 5000)");
    run.also(
        "gap (gpu_id, step, cause, blocked_on, ns) VALUES (20, 0, 'input_wait', 'read', 100),"
        " (20, 0, 'input_wait', '', 10), (20, 0, 'copy_staging', '', 5), (20, 0, 'launch_bound', '', 70),"
        " (20, 0, 'kernel_gap', '', 30), (20, 0, 'sync', '', 60), (20, 0, 'alloc_or_load', '', 50),"
        " (20, 0, 'host_cpu', '', 90), (20, 0, 'wait_other_gpu', '', 20), (20, 0, 'tail', '', 40)");
    run.finish();
    CHECK(
        run.ask("SELECT rank, gpu, step, device_compute_ns, device_to_device_ns,"
                " device_collective_communication_ns, host_compute_ns, kernel_launch_ns, input_ns, output_ns,"
                " compilation_ns, all_others_ns, step_ns FROM compat_tf_step") ==
        "3 GPU-0 0 325 50 70 90 100 175 40 50 100 1000");
    CHECK(run.ask("SELECT kernel_ns, memcpy_ns, memset_ns, communication_ns, runtime_ns, dataloader_ns,"
                  " cpu_exec_ns, other_ns, step_ns FROM compat_torch_step") ==
          "300 130 25 70 185 110 90 90 1000");
    CHECK(run.ask("SELECT count(*), min(source) FROM compat_torch_step") == "1 causes");
}

TEST_CASE("where PyTorch's profiler marked steps, they are that tool's own", "[run_views]") {
    Run run;
    run.also("activity VALUES (20, 0, 1, 200), (20, 0, 0, 300)");
    run.also("torch_step VALUES (7, 7, 1000, 600, 210, 20, 30, 40, 50, 60, 70, 120)");
    run.finish();
    CHECK(run.ask("SELECT gpu_id, step, kernel_ns, memcpy_ns, memset_ns, communication_ns, runtime_ns,"
                  " dataloader_ns, cpu_exec_ns, other_ns, step_ns, source FROM compat_torch_step") ==
          "20 7 210 20 30 40 50 60 70 120 600 profiler");
}

// Step 0: calls 300 and 150 between them, kernels 400 of 1000; step 1: kernels 450.
TEST_CASE("a step is launch bound if launching takes longer than the kernels", "[run_views]") {
    Run run;
    run.also(
        "activity VALUES (20, 0, 1, 250), (20, 0, 3, 100), (20, 0, 4, 20), (20, 0, 256, 30), (20, 0, 8, 100),"
        " (20, 0, 0, 500), (20, 1, 1, 450), (20, 1, 0, 550)");
    run.also("gpu_step (gpu_id, step, api_ns, between_ns) VALUES (20, 0, 300, 150), (20, 1, 300, 150)");
    run.finish();
    CHECK(run.ask("SELECT rank, kernel_ns, launch_bound FROM v_launch_bound WHERE step = 0") == "3 400 1");
    CHECK(run.ask("SELECT kernel_ns, launch_bound FROM v_launch_bound WHERE step = 1") == "450 0");
}

// 40 small launches of 8 + 3 us each could gain 440 us, but the GPU idled for launching 100 us only.
TEST_CASE("small kernels gain at most what launching cost", "[run_views]") {
    Run run;
    run.insert("UPDATE gpu SET latency_ns = 8000, kernel_gap_ns = 3000");
    run.also(
        "launch_stat (gpu_id, stream_id, timed, small, small_ns) VALUES (20, 1, 60, 30, 90000),"
        " (20, 2, 20, 10, 10000)");
    run.also(
        "gap (gpu_id, step, cause, blocked_on, ns) VALUES (20, 0, 'launch_bound', '', 60000),"
        " (20, 1, 'kernel_gap', '', 40000), (20, 1, 'sync', '', 900000)");
    run.also(
        "kernel (gpu_id, name, launches, graph_launches, timed, sum_ns) VALUES"
        " (20, 'small', 500, 0, 30, 90000), (20, 'large', 10, 0, 50, 800000)");
    run.also(
        "kernel (gpu_id, name, launches, graph_launches, timed, sum_ns, comm_source) VALUES"
        " (20, 'nccl', 9, 0, 9, 9000, 'nccl')");
    run.finish();
    CHECK(run.ask("SELECT timed, small, small_ns, small_share, launch_idle_ns, gain_bound_ns"
                  " FROM v_small_kernels") == "80 40 100000 0.5 100000 100000");
    CHECK(run.ask("SELECT name, executed, mean_ns, share_of_timed, gain_bound_ns FROM v_kernel_small") ==
          "small 500 3000.0 0.337078651685393 330000");
    CHECK(run.ask("SELECT count(*) FROM v_kernel_small") == "1");
}

// As damaged traces tell them: together they are more than a whole number can be.
TEST_CASE("steps of centuries have a mean", "[run_views]") {
    Run run;
    run.insert("DELETE FROM rank");
    for (const char* rank : {"0", "1", "2", "3"}) {
        run.also("rank (rank_id, rank, steps_source) VALUES (" + std::string(rank) + ", " + rank +
                 ", 'detected')");
        run.also("step (rank_id, step, dur_ns) VALUES (" + std::string(rank) + ", 0, 3000000000000000000)");
    }
    run.also("run VALUES ('samples_per_step', '6000000000')");
    run.finish();
    CHECK(run.ask("SELECT samples_per_s FROM v_model_rate") == "2.0");
}

}  // namespace run_views_test
