// What collectives should take and reach, by hand. 1 GB/s is a byte per ns, so 100 GB/s move 1000 bytes
// in 10.
#include "analysis/collective/expected.h"

#include <catch2/catch.hpp>
#include <vector>

namespace collective_expected_test {

using namespace gpushim::analysis;

//  op             n   S passed   S        factor
//  AllReduce      4   100        100      2 * 3/4
//  AllGather      4   100        400      3/4
//  Broadcast      4   100        100      1
TEST_CASE("operations are counted as nccl-tests counts them", "[collective]") {
    CHECK(bus_factor(CollectiveOp::all_reduce, 4) == 1.5);
    CHECK(bus_factor(CollectiveOp::all_gather, 4) == 0.75);
    CHECK(bus_factor(CollectiveOp::reduce_scatter, 8) == 0.875);
    CHECK(bus_factor(CollectiveOp::all_to_all, 2) == 0.5);
    CHECK(bus_factor(CollectiveOp::broadcast, 4) == 1);
    CHECK(bus_factor(CollectiveOp::send, 2) == 1);
    CHECK(bus_factor(CollectiveOp::all_reduce, 1) == 0);
    CHECK(bus_factor(CollectiveOp::broadcast, 1) == 0);
    CHECK(whole_bytes(CollectiveOp::all_reduce, 100, 4) == 100);
    CHECK(whole_bytes(CollectiveOp::all_gather, 100, 4) == 400);
    CHECK(whole_bytes(CollectiveOp::reduce_scatter, 100, 4) == 400);
    CHECK(whole_bytes(CollectiveOp::all_to_all, 100, 4) == 400);
    CHECK(operation_of("ncclReduceScatter") == CollectiveOp::reduce_scatter);
    CHECK(operation_of("ncclBcast") == CollectiveOp::broadcast);
    CHECK(operation_of("ncclReduceConfig") == CollectiveOp::reduce);
    CHECK(!operation_of("ncclCommInitAll"));
    CHECK(!operation_of("ncclCommInitRankConfig"));
    CHECK(!operation_of(""));
    CHECK(is_barrier_like(CollectiveOp::all_to_all));
    CHECK(!is_barrier_like(CollectiveOp::reduce));
}

TEST_CASE("an AllReduce of a known model takes what the guide says", "[collective]") {
    // 11,689,512 parameters of 4 bytes at 200 GB/s: 46,758,048 / 200.
    CHECK(expected_simple_ns(11'689'512LL * 4, 2, 200) == 233'790);
    // Of two ranks the ring is the same, up to two latencies.
    CHECK(expected_ring_ns(CollectiveOp::all_reduce, 46'758'048, 2, 200, 0) == 233'790);
    CHECK(expected_ring_ns(CollectiveOp::all_reduce, 46'758'048, 2, 200, 1000) == 235'790);
}

TEST_CASE("each way of reducing has its own time", "[collective]") {
    // 2 * 3/4 * 8000 / 100 + 2 * 3 * 5
    CHECK(expected_ring_ns(CollectiveOp::all_reduce, 8000, 4, 100, 5) == 150);
    // 3/4 * 8000 / 100 + 3 * 5
    CHECK(expected_ring_ns(CollectiveOp::all_gather, 8000, 4, 100, 5) == 75);
    // 8000 / 100 + 1 * 5
    CHECK(expected_ring_ns(CollectiveOp::send, 8000, 2, 100, 5) == 85);
    // 8000 * 5/4 / 100, and 2 * 8000 / 100
    CHECK(expected_nvls_ns(8000, 4, 100) == 100);
    CHECK(expected_tree_ns(8000, 4, 100) == 160);
    // In nodes of 4: 2 * 3/4 * 8000 / 100 = 120. Over 2 nodes: 2 * 1/2 * 8000 / rails / 10.
    CHECK(expected_two_level_ns(8000, {2, 4, 1, 100, 10}) == 800);
    CHECK(expected_two_level_ns(8000, {2, 4, 4, 100, 10}) == 200);
    CHECK(expected_two_level_ns(8000, {2, 4, 8, 100, 10}) == 120);
}

TEST_CASE("a model is asked by its name", "[collective]") {
    for (const auto& [name, ns] :
         {std::pair("ring", 135), {"tree", 160}, {"nvls", 100}, {"two_level", 800}}) {
        const auto model = expected_model(name);
        REQUIRE(model);
        CHECK(name_of(*model) == name);
        const int64_t ranks = *model == ExpectedModel::two_level ? 8 : 4;
        CHECK(expected_ns(CollectiveOp::all_reduce, 8000, ranks, {*model, 100, 2.5, 2, 10}) == ns);
    }
    CHECK(!expected_model("star"));
}

TEST_CASE("one rank moves nothing", "[collective]") {
    CHECK(expected_simple_ns(8000, 1, 100) == 0);
    CHECK(expected_ring_ns(CollectiveOp::all_reduce, 8000, 1, 100, 5) == 0);
    CHECK(expected_nvls_ns(8000, 1, 100) == 0);
    CHECK(expected_tree_ns(8000, 1, 100) == 0);
    CHECK(expected_two_level_ns(8000, {1, 1, 1, 100, 10}) == 0);
    CHECK(!rates(CollectiveOp::all_reduce, 8000, 1, 10, 10));
}

TEST_CASE("rates are decimal, and with the wait over the longest duration", "[collective]") {
    const auto found = rates(CollectiveOp::all_reduce, 8000, 4, 80, 160);
    REQUIRE(found);
    CHECK(found->algbw_gb_per_s == 100);
    CHECK(found->busbw_gb_per_s == 150);
    CHECK(found->busbw_incl_wait_gb_per_s == 75);
    CHECK(!rates(CollectiveOp::all_reduce, 8000, 4, 0, 0));
    CHECK(!rates(CollectiveOp::all_reduce, 0, 4, 80, 80));
}

TEST_CASE("bandwidth is what the user says, else what was seen, else what is plugged in", "[collective]") {
    CHECK(choose_bandwidth(200, 150, 450)->source == BandwidthSource::given);
    CHECK(choose_bandwidth({}, 150, 450)->source == BandwidthSource::measured);
    CHECK(choose_bandwidth({}, {}, 450)->gb_per_s == 450);
    CHECK(choose_bandwidth({}, {}, 450)->source == BandwidthSource::topology);
    CHECK(!choose_bandwidth({}, {}, {}));
    CHECK(nvlink_gb_per_s(3, 12) == 300.0);  // A100
    CHECK(nvlink_gb_per_s(4, 18) == 450.0);  // H100
    CHECK(pcie_gb_per_s(4, 16) == Approx(31.504));
    CHECK(!nvlink_gb_per_s(9, 18));
    CHECK(!nvlink_gb_per_s(4, 0));
}

TEST_CASE("measured is the best decile of big messages", "[collective]") {
    constexpr int64_t kBig = 32 << 20;
    std::vector<Reached> seen = {{kBig - 1, 1000}};
    CHECK(!measured_bandwidth(seen));
    for (int i = 1; i <= 20; ++i) seen.push_back({kBig, static_cast<double>(i)});
    CHECK(measured_bandwidth(seen) == 19.0);  // the second of twenty
}

TEST_CASE("a verdict needs instances that agree", "[collective]") {
    constexpr int64_t kMiB = 1 << 20;
    std::vector<int64_t> times(19, 100);
    CHECK(efficiency(kMiB, {80, 30}, times).by == EfficiencyBy::few_instances);
    times.push_back(100);
    CHECK(efficiency(kMiB, {80, 30}, times).by == EfficiencyBy::bandwidth);
    CHECK(efficiency(kMiB, {80, 30}, times).share == 0.8);
    CHECK(efficiency((256 << 10) - 1, {80, 30}, times).by == EfficiencyBy::latency);
    CHECK(efficiency((256 << 10) - 1, {80, 30}, times).share == 0.3);
    CHECK(efficiency(256 << 10, {80, 30}, times).by == EfficiencyBy::bandwidth);
    CHECK(efficiency(kMiB, {0, 0}, times).by == EfficiencyBy::nothing_expected);
    // Two of twenty are above the 90th percentile: they do not spread it; three do.
    times[0] = times[1] = 130;
    CHECK(efficiency(kMiB, {80, 30}, times).by == EfficiencyBy::bandwidth);
    times[2] = 129;
    CHECK(efficiency(kMiB, {80, 30}, times).by == EfficiencyBy::bandwidth);
    times[2] = 130;
    CHECK(efficiency(kMiB, {80, 30}, times).by == EfficiencyBy::spread);
    CHECK(!efficiency(kMiB, {80, 30}, times).share);
}

TEST_CASE("bytes of a step tell how often the parameters were reduced", "[collective]") {
    const auto sync = [](double bytes) { return *check_parameters({bytes, 0, 0}, 1000, 4, 4).sync; };
    CHECK(sync(4000) == ParameterSync::once);
    CHECK(sync(4400) == ParameterSync::once);
    CHECK(sync(5000) == ParameterSync::more);
    CHECK(sync(8000) == ParameterSync::redundant);
    CHECK(sync(7200) == ParameterSync::redundant);
    CHECK(sync(2000) == ParameterSync::less);
    CHECK(sync(0) == ParameterSync::none);
    const ParameterCheck check = check_parameters({8000, 0, 0}, 1000, 4, 4);
    CHECK(check.ratio == 2.0);
    CHECK(check.wire_bytes == 12'000);  // 2 * 3/4 * 8000
    CHECK(check.expected_wire_bytes == 6000.0);
}

TEST_CASE("without parameters they are implied", "[collective]") {
    const ParameterCheck check = check_parameters({46'758'048, 0, 0}, {}, 4, 2);
    CHECK(check.implied_parameters == 11'689'512);
    CHECK(!check.ratio);
    CHECK(!check.sync);
    CHECK(!check.expected_wire_bytes);
}

TEST_CASE("ReduceScatter and AllGather are one AllReduce together", "[collective]") {
    const ParameterCheck check = check_parameters({4, 4000, 4000}, 1000, 4, 4);  // and a norm of 4 bytes
    CHECK(check.sharded);
    CHECK(check.ratio == 1.0);
    CHECK(check.wire_bytes == 6000);  // 3/4 * 4000 each
    CHECK(check.expected_wire_bytes == 6000.0);
    // Gathered again for the backward pass: there are no more parameters for that.
    const ParameterCheck again = check_parameters({0, 4000, 8000}, 1000, 4, 4);
    CHECK(again.ratio == 1.0);
    CHECK(again.implied_parameters == 1000);
    // Scattered twice: gradients go around twice.
    CHECK(check_parameters({0, 8000, 4000}, 1000, 4, 4).ratio == 2.0);
    CHECK(check_parameters({0, 0, 8000}, {}, 4, 4).implied_parameters == 2000);
}

}  // namespace collective_expected_test
