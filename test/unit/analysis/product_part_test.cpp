// Matrix products by the kernels that computed them, worked out by hand.
#include "analysis/run/parts/own_parts.h"
#include "made_facts.h"
#include "shim/schema/flags.h"

#include <catch2/catch.hpp>

namespace product_part_test {

using namespace made;

namespace {

constexpr const char* kGemm = "ampere_sgemm_128x64_tn";

// A product of 64 x 32 x 16 in float32: 65,536 operations, 4 * (1024 + 512 + 2048) bytes where that is known.
void product(MadeFacts& made, int64_t enter_ns, int64_t exit_ns, int64_t thread = 1,
             const char* counts = "1, 1", const char* sizes = "64, 32, 16", int flags = 0) {
    made.made.run("INSERT INTO gemm VALUES (" + std::to_string(enter_ns) + ", " +
                  std::to_string(exit_ns - enter_ns) + ", " + std::to_string(thread) + ", NULL, " + sizes +
                  ", 1, 0, 0, 0, NULL, " + counts + ", " + std::to_string(flags) + ")");
}

Call timed(int64_t shape, int64_t enter_ns, int64_t ran_ns, int64_t thread = 1) {
    return kernel(ran(launch(0, enter_ns, enter_ns + 100, thread), enter_ns + 5000, enter_ns + 5000 + ran_ns),
                  shape);
}

std::string asked(MadeFacts& made, const std::vector<Call>& calls, const char* question) {
    Written written;
    all_of(make_product_part(made.facts), made, calls, written);
    return written.ask(question);
}

std::string rows_of(MadeFacts& made, const std::vector<Call>& calls) {
    return asked(
        made, calls,
        "SELECT coalesce(group_concat(name || ' ' || gpu_id || ' ' || products || ' ' || CAST(flops AS "
        "INTEGER) ||"
        " ' ' || ns || ' ' || coalesce(CAST(bytes AS INTEGER), '-'), ', '), '') FROM (SELECT * FROM "
        "kernel_product"
        " ORDER BY name)");
}

Call in_step(int32_t step, Call call) {
    call.step = step;
    return call;
}

}  // namespace

//  thread    ═════product═════   ══product══     launch
//              launch  launch      launch
//  device        ██gemm██ █reduce█   ██gemm██    gemm    the third is none of a product's
TEST_CASE("a product is of the kernel that ran longest, in the time of all", "[product_part]") {
    MadeFacts made;
    const int64_t gemm = made.kernel(kGemm), reduce = made.kernel("splitKreduce_kernel");
    product(made, 1000, 2000);
    product(made, 3000, 4000);
    CHECK(rows_of(made, {timed(gemm, 1100, 100'000), timed(reduce, 1500, 20'000), timed(gemm, 3100, 80'000),
                         timed(gemm, 4000, 70'000)}) == std::string(kGemm) + " 20 2 131072 200000 28672");
}

TEST_CASE("the longest may come last", "[product_part]") {
    MadeFacts made;
    const int64_t gemm = made.kernel(kGemm), prepare = made.kernel("prepare");
    product(made, 1000, 2000);
    CHECK(rows_of(made, {timed(prepare, 1000, 5'000), timed(gemm, 1500, 20'000)}) ==
          std::string(kGemm) + " 20 1 65536 25000 14336");
}

TEST_CASE("a product of which a kernel has no device time counts for none", "[product_part]") {
    MadeFacts made;
    const int64_t gemm = made.kernel(kGemm);
    product(made, 1000, 2000);
    CHECK(rows_of(made, {timed(gemm, 1100, 100'000), kernel(launch(0, 1500, 1600), gemm)}) == "");
}

TEST_CASE("what another thread launches meanwhile is not the product's", "[product_part]") {
    MadeFacts made;
    const int64_t gemm = made.kernel(kGemm), other = made.kernel("other");
    product(made, 1000, 9000);
    product(made, 2000, 5000, 2);
    CHECK(rows_of(made, {timed(other, 1100, 900'000, 3), timed(gemm, 2500, 10'000, 2),
                         timed(gemm, 6000, 30'000)}) == std::string(kGemm) + " 20 2 131072 40000 28672");
}

//  thread   ═product═  ═══product═══  ═product═   launch      of the second no kernel has device times
//            launch     launch launch  launch
//  step      0          1      1       none       1
TEST_CASE("operations by step, and launches of products, whether timed or not", "[product_part]") {
    MadeFacts made;
    const int64_t gemm = made.kernel(kGemm), reduce = made.kernel("splitKreduce_kernel");
    product(made, 1000, 2000);
    product(made, 3000, 4000);
    product(made, 5000, 6000);
    const std::vector<Call> calls = {in_step(0, timed(gemm, 1100, 100'000)),
                                     in_step(1, kernel(launch(0, 3100, 3200), gemm)),
                                     in_step(1, kernel(launch(0, 3300, 3400), reduce)),
                                     timed(gemm, 5100, 100'000), in_step(1, timed(gemm, 7000, 100'000))};
    CHECK(
        asked(
            made, calls,
            "SELECT group_concat(gpu_id || ' ' || step || ' ' || products || ' ' || CAST(flops AS INTEGER), "
            "', ') FROM (SELECT * FROM product_step ORDER BY step)") == "20 0 1 65536, 20 1 1 65536");
    CHECK(asked(made, calls,
                "SELECT group_concat(gpu_id || ' ' || name || ' ' || launches, ', ') FROM"
                " (SELECT * FROM kernel_in_product ORDER BY name)") ==
          "20 " + std::string(kGemm) + " 3, 20 splitKreduce_kernel 1");
}

TEST_CASE("bytes are known of all products of a kernel or not at all", "[product_part]") {
    MadeFacts made;
    const int64_t gemm = made.kernel(kGemm);
    product(made, 1000, 2000);
    product(made, 3000, 4000, 1, "NULL, NULL");
    CHECK(rows_of(made, {timed(gemm, 1100, 10'000), timed(gemm, 3100, 10'000)}) ==
          std::string(kGemm) + " 20 2 131072 20000 -");
}

TEST_CASE("products without sizes, and those that failed, come to nothing", "[product_part]") {
    MadeFacts made;
    const int64_t gemm = made.kernel(kGemm);
    product(made, 1000, 2000, 1, "1, 1", "NULL, NULL, NULL");
    product(made, 3000, 4000, 1, "1, 1", "64, 32, 16", gpushim::kRowFailed);
    CHECK(rows_of(made, {timed(gemm, 1100, 10'000), timed(gemm, 3100, 10'000)}) == "");
}

TEST_CASE("a trace that is older than products has none", "[product_part]") {
    MadeFacts made;
    const int64_t gemm = made.kernel(kGemm);
    made.made.run("DROP VIEW v_all");
    made.made.run("DROP VIEW v_ledger");
    made.made.run("DROP VIEW v_gemm");
    made.made.run("DROP TABLE gemm");
    CHECK(rows_of(made, {timed(gemm, 1100, 10'000)}) == "");
}

}  // namespace product_part_test
