// Kernels by name, worked out by hand.
#include "analysis/run/parts/own_parts.h"
#include "made_facts.h"

#include <catch2/catch.hpp>

namespace kernel_part_test {

using namespace made;

namespace {

std::string row(const Written& written, const std::string& name, const std::string& columns,
                int64_t gpu = kGpu) {
    return written.ask("SELECT " + columns + " FROM kernel WHERE name = '" + name +
                       "' AND gpu_id = " + std::to_string(gpu));
}
Call timed(int32_t lane, int64_t shape, int64_t enter_ns, int64_t start_ns, int64_t end_ns) {
    return kernel(ran(launch(lane, enter_ns, enter_ns + 100), start_ns, end_ns), shape);
}

}  // namespace

//  us        100       200    250  300       400       500
//  stream 1   ███gemm███       ███gemm███                        sum 100 + 100 + 150, union 250
//  stream 2        ███gemm████████ (150 to 300)
TEST_CASE("kernels of one name that overlap count twice in the sum and once in the union", "[kernel_part]") {
    MadeFacts made;
    const int64_t gemm = made.kernel("ampere_sgemm_128x64_tn", kMultiprocessors);
    Written written;
    all_of(make_operation_part(made.facts), made,
           {timed(0, gemm, 0, 100'000, 200'000), timed(1, gemm, 1000, 150'000, 300'000),
            timed(0, gemm, 2000, 250'000, 350'000)},
           written);
    const char* name = "ampere_sgemm_128x64_tn";
    CHECK(row(written, name, "launches, graph_launches, timed, sum_ns, union_ns") == "3 0 3 350000 250000");
    CHECK(row(written, name, "min_ns, max_ns, small, small_grid, invalid") == "100000 150000 0 0 0");
    CHECK(row(written, name, "family, eligible, overlapped, alone, alone_ns") == "gemm 1 0 3 350000");
    CHECK(row(written, name, "p50_ns, squares_ns2") == "100000 42500000000.0");
}

TEST_CASE("how far estimates may be off is known of each kernel, at most all of its time", "[kernel_part]") {
    MadeFacts made;
    const int64_t a = made.kernel("a");
    Call first = timed(0, a, 0, 0, 5'000), second = timed(0, a, 10'000, 10'000, 15'000);
    first.times.likely_ns = 500;
    second.times.likely_ns = 13'312;
    Written written;
    all_of(make_operation_part(made.facts), made, {first, second}, written);
    CHECK(row(written, "a", "timed, sum_ns, unsure_ns") == "2 10000 5500");
}

//  compute    ███a███   ████a█████   ██a██        100, 140, 100 us; the second beside the collective: tax 40
//  comm                   ████c████
TEST_CASE("the overlap tax is what kernels took beyond their median alone", "[kernel_part]") {
    MadeFacts made;
    const int64_t a = made.kernel("a");
    made.kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)");
    Call nccl = timed(1, 1, 2000, 250'000, 330'000);
    nccl.type = OperationClass::comm;
    Written written;
    all_of(make_operation_part(made.facts), made,
           {timed(0, a, 0, 0, 100'000), timed(0, a, 1000, 200'000, 340'000), nccl,
            timed(0, a, 3000, 400'000, 500'000)},
           written);
    CHECK(row(written, "a", "overlapped, overlapped_ns, alone, alone_ns, alone_p50_ns, tax_ns") ==
          "1 140000 2 200000 100000 40000");
    CHECK(written.ask("SELECT comm_source, comm_operation, tax_ns FROM kernel WHERE name LIKE 'nccl%'") ==
          "nccl all_reduce -");
}

TEST_CASE("communication that only a name tells of is communication", "[kernel_part]") {
    MadeFacts made;
    const int64_t a = made.kernel("a");
    const int64_t custom = made.kernel("void vllm::cross_device_reduce_1stage<__half, 2>(vllm::RankData*)");
    Written written;
    all_of(make_operation_part(made.facts), made,
           {timed(0, a, 0, 1000, 2000), timed(1, custom, 100, 1500, 2500)}, written);
    CHECK(row(written, "a", "overlapped, alone_p50_ns, tax_ns") == "1 - -");
}

// 1,000 launches of a graph of 100 kernels: 100,000 executed.
TEST_CASE("a graph's kernels count with each of its launches", "[kernel_part]") {
    MadeFacts made;
    made.kernel("a");
    made.kernel("b");
    made.facts.graphs[5] = {100, 0, 0, 0, {{0, 60}, {1, 30}}};  // 10 without a name
    made.facts.graphs[6] = {-1, -1, -1, -1, {}};                // not recorded
    std::vector<Call> calls = {of_kind(launch(0, 1, 2), OperationClass::graph, -1, 6),
                               kernel(launch(0, 3, 4), 0)};
    for (int64_t i = 0; i < 1000; ++i)
        calls.push_back(of_kind(launch(0, 10 + i, 11 + i), OperationClass::graph, -1, 5));
    Written written;
    all_of(make_operation_part(made.facts), made, calls, written);
    CHECK(written.ask("SELECT sum(graph_launches), sum(launches) FROM kernel") == "100000 1");
    CHECK(row(written, "a", "launches, graph_launches, timed, min_ns, p50_ns") == "1 60000 0 - -");
    CHECK(row(written, "(name not known)", "graph_launches") == "10000");
}

TEST_CASE("kernels are small below twice the launch latency", "[kernel_part]") {
    MadeFacts made;
    const int64_t a = made.kernel("a");
    Written written;
    all_of(make_operation_part(made.facts), made,
           {timed(0, a, 0, 0, 15'999), timed(0, a, 100, 20'000, 36'000), timed(0, a, 200, 50'000, 50'000)},
           written);
    CHECK(row(written, "a", "timed, small, invalid") == "2 1 1");
    Call comm = timed(0, a, 0, 0, 1000);
    comm.type = OperationClass::comm;
    Written collective;
    all_of(make_operation_part(made.facts), made, {comm}, collective);
    CHECK(row(collective, "a", "timed, small") == "1 0");
}

//  us      0      100      250  300     400
//  131 b.  ███131███
//  132 b.           ███132███
//  65 b.                        ███65████          small: 100 + 100 of 350
TEST_CASE("a grid is small with fewer blocks than the GPU has multiprocessors", "[kernel_part]") {
    const auto grids = [](MadeFacts& made) {
        const int64_t a = made.kernel("a", kMultiprocessors - 1), b = 10, c = 11;
        made.facts.shapes[b] = {0, kMultiprocessors, 32};
        made.facts.shapes[c] = {0, 65, 32};
        Written written;
        all_of(make_operation_part(made.facts), made,
               {timed(0, a, 0, 0, 100'000), timed(0, b, 100, 100'000, 250'000),
                timed(0, c, 200, 300'000, 400'000)},
               written);
        return row(written, "a",
                   "timed, small_grid, small_grid_ns,"
                   " CAST(round(small_grid_filled_ns) AS INTEGER)");
    };
    MadeFacts made;
    CHECK(grids(made) == "3 2 200000 148485");  // 131 and 65 of 132
    MadeFacts older;
    older.facts.gpus[0].multiprocessors.reset();
    CHECK(grids(older) == "3 - - -");
    MadeFacts comm;
    const int64_t few = comm.kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)", 24);
    const int64_t not_recorded = comm.kernel("b", 0);
    Written written;
    all_of(make_operation_part(comm.facts), comm,
           {timed(0, few, 0, 0, 100'000), timed(0, not_recorded, 100, 100'000, 200'000)}, written);
    CHECK(row(written, "ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)", "timed, small_grid") == "1 0");
    CHECK(row(written, "b", "timed, small_grid, small_grid_ns") == "1 - -");
}

//  piece 1  |──████a███|██    a of the first piece runs on: given again in the second, counted once
//  comm               |  (in piece 2) ██████ beside a's end
TEST_CASE("a kernel that runs on into the next piece counts once", "[kernel_part]") {
    MadeFacts made;
    const int64_t a = made.kernel("a");
    auto part = make_operation_part(made.facts);
    const Call on = timed(0, a, 0, 1000, 5000), next = timed(1, a, 4500, 4600, 4700);
    give(*part, piece(1, 0, 4000), {}, {on});
    give(*part, piece(1, 4000, 9000), {on}, {next});
    Written written;
    part->finish(written.run());
    CHECK(row(written, "a", "timed, sum_ns") == "2 4100");
}

//  call of a
//      |             first piece  |───███a███───██b██──| second piece |──██c██──|     one graph's launch, 8
//      ms ago
TEST_CASE("kernels that were called before all is known count once, when they ran", "[kernel_part]") {
    MadeFacts made;
    const int64_t a = made.kernel("a");
    auto part = make_operation_part(made.facts);
    const Call before = timed(0, a, 0, 4500, 5000), next = timed(0, a, 5100, 5200, 5300),
               last = timed(0, a, 9100, 9200, 9250);
    give(*part, piece(1, 4000, 9000), {before}, {next});
    give(*part, piece(1, 9000, 12'000), {before, next}, {last});
    Written written;
    part->finish(written.run());
    CHECK(row(written, "a", "timed, sum_ns") == "3 650");
}

TEST_CASE("launches of the whole run come from the totals, also of names that no row has", "[kernel_part]") {
    MadeFacts made(2, 1);
    made.kernel("a");
    made.made.run("INSERT INTO name VALUES (1, 'a', NULL), (2, '_Z4gonev', 'gone()')");
    made.made.run("INSERT INTO graph_kernel VALUES (5, 1, 3)");
    made.facts.graphs[5] = {3, 0, 0, 0, {{0, 3}}};
    made.total("kind, stream_id, name_id", "'launch', 1, 1", 500);
    made.total("kind, stream_id, name_id", "'launch', 2, 1", 20);
    made.total("kind, stream_id, name_id", "'launch', 2, 2", 30);
    made.total("kind, stream_id, graph_id", "'graph_launch', 2, 5", 7);
    made.total("kind", "'launch'", 2);  // nothing is told of them any more
    Written written;
    all_of(make_operation_part(made.facts), made,
           {kernel(launch(0, 1, 2), 0), of_kind(launch(1, 3, 4), OperationClass::graph, -1, 5)}, written);
    CHECK(row(written, "a", "launches, graph_launches") == "500 0");
    CHECK(row(written, "a", "launches, graph_launches", kGpu + 1) == "20 21");
    CHECK(row(written, "gone()", "launches, family", kGpu + 1) == "30 other");
    CHECK(row(written, "(other)", "launches", -1) == "2");
}

//  steps     before |──0──|──1──|──2 (left out: not all of it)
//  gemm       ██  █ |  █  | █ █ | █                    in steps 3 of 6, two of them timed
TEST_CASE("what was called in steps is told from what was called outside of them", "[kernel_part]") {
    MadeFacts made;
    const int64_t gemm = made.kernel("ampere_sgemm_128x64_tn", kMultiprocessors);
    made.step(10'000, 20'000);
    made.step(20'000, 30'000);
    made.step(30'000, 40'000);
    made.facts.steps[2].is_left_out = true;
    made.facts.steps[2].why_left_out = kResting;
    Call untimed = in_step(timed(0, gemm, 25'000, 0, 0), 1);
    untimed.timed = false;
    const std::vector<Call> calls = {timed(0, gemm, 0, 1'000, 9'000),
                                     timed(0, gemm, 1'000, 9'000, 10'000),
                                     in_step(timed(0, gemm, 12'000, 12'000, 15'000), 0),
                                     in_step(timed(0, gemm, 21'000, 21'000, 22'000), 1),
                                     untimed,
                                     in_step(timed(0, gemm, 31'000, 31'000, 33'000), 2)};
    const char* const asked = "launches, timed, in_steps, timed_in_steps, in_steps_ns";
    Written written;
    all_of(make_operation_part(made.facts), made, calls, written);
    CHECK(row(written, "ampere_sgemm_128x64_tn", asked) == "6 5 3 2 4000");

    made.facts.are_slices = true;
    Written sliced;
    all_of(make_operation_part(made.facts), made, calls, sliced);
    CHECK(row(sliced, "ampere_sgemm_128x64_tn", asked) == "6 5 - - -");
}

TEST_CASE("kernels in graphs count where their graph was launched", "[kernel_part]") {
    MadeFacts made;
    const int64_t gemm = made.kernel("ampere_sgemm_128x64_tn", kMultiprocessors);
    made.facts.graphs[5].kernels = 3;
    made.facts.graphs[5].by_kernel = {{static_cast<int32_t>(gemm), 2}};
    made.step(10'000, 20'000);
    const Call graph = of_kind(launch(0, 0, 100), OperationClass::graph, kNotRecorded, 5);
    Call later = graph;
    later.enter_ns = 12'000;
    later.exit_ns = 12'100;
    Written written;
    all_of(make_operation_part(made.facts), made, {graph, in_step(later, 0)}, written);
    CHECK(row(written, "ampere_sgemm_128x64_tn", "graph_launches, in_steps") == "4 2");
    CHECK(row(written, "(name not known)", "graph_launches, in_steps") == "2 1");
}

TEST_CASE("what graphs ran in steps is told by rows, beside totals too", "[kernel_part]") {
    MadeFacts made;
    made.kernel("a");
    made.made.run("INSERT INTO name VALUES (1, 'a', NULL)");
    made.made.run("INSERT INTO graph_kernel VALUES (5, 1, 3)");
    made.facts.graphs[5] = {3, 0, 0, 0, {{0, 3}}};
    made.total("kind, stream_id, graph_id", "'graph_launch', 1, 5", 7);
    made.step(10'000, 20'000);
    const auto graph = [](int64_t enter_ns) {
        return of_kind(launch(0, enter_ns, enter_ns + 100), OperationClass::graph, kNotRecorded, 5);
    };
    Written written;
    all_of(make_operation_part(made.facts), made, {graph(0), in_step(graph(12'000), 0)}, written);
    CHECK(row(written, "a", "graph_launches, in_steps") == "21 3");
}

}  // namespace kernel_part_test
