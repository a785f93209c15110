// The sweep by itself: pieces, and busy spans as they are collected.
#include "analysis/run/busy/activity_sweep.h"

#include <catch2/catch.hpp>
#include <string>

namespace activity_sweep_test {

using namespace gpushim::analysis;

namespace {

DeviceOp op(int64_t start_ns, int64_t end_ns, OperationClass type = OperationClass::compute,
            int64_t wait_ns = kNotRecorded) {
    return {start_ns, end_ns, 0, 0, wait_ns, 0, 0, 0, 0, 0, type, false, false, false, false};
}

std::string rows(ActivitySweep& sweep) {
    std::string text;
    for (const ActivityRow& row : sweep.finish())
        text +=
            std::to_string(row.step) + ":" + std::to_string(row.classes) + ":" + std::to_string(row.ns) + " ";
    return text;
}

}  // namespace

//  known    |0          50|    |100  120|       operations that run on into the next piece are given there
//  again ran        10███20 40██60 90████110
TEST_CASE("what ran in one piece is not in the next", "[activity_sweep]") {
    ActivitySweep sweep;
    const auto first = cut_at_steps({0, 50}, {}), second = cut_at_steps({100, 120}, {});
    sweep.begin(first);
    sweep.add(op(10, 20));
    sweep.add(op(40, 60));
    sweep.end();
    sweep.begin(second);
    sweep.add(op(90, 110));
    sweep.end();
    CHECK(rows(sweep) == "-1:0:40 -1:1:30 ");
}

//  ran    10█████30   40~~~wait~~50███70        asked at 20, 45, and at the end, 60
TEST_CASE("busy spans are given as far as they are known", "[activity_sweep]") {
    ActivitySweep sweep(true);
    const auto segments = cut_at_steps({15, 60}, {});
    sweep.begin(segments);
    std::vector<Interval> busy;
    sweep.add(op(10, 30));
    sweep.run_to(20);
    sweep.take_busy(busy);
    CHECK(busy == std::vector<Interval>{{15, 20}});
    sweep.add(op(40, 70, OperationClass::comm, 10));
    sweep.run_to(45);
    sweep.take_busy(busy);
    sweep.end();
    sweep.take_busy(busy);
    CHECK(busy == std::vector<Interval>{{15, 20}, {20, 30}, {40, 45}, {45, 60}});
    CHECK(rows(sweep) == "-1:0:10 -1:1:15 -1:2:10 -1:4:10 ");
}

}  // namespace activity_sweep_test
