// PyTorch's step breakdown by its TensorBoard plugin's definition.
#include "analysis/run/parts/torch.h"

#include <catch2/catch.hpp>

namespace torch_test {

using namespace gpushim::analysis;

namespace {

using Ns = TorchSums::ByRole;

TorchLaunch launch(int64_t enter_ns, int64_t start_ns, int64_t end_ns) {
    return {{enter_ns, enter_ns + 2}, {start_ns, end_ns}};
}

}  // namespace

//  host   |───0───|───1───|             10..50, 50..90
//  calls   a    b    c
//  GPU        aaaa bbbbb   cccccc       a 20..30, b 40..60, c 65..100
TEST_CASE("a step ends with what was launched in it, and the next one begins there", "[torch]") {
    TorchSteps steps({{10, 50}, {50, 90}});
    steps.add(launch(11, 20, 30));
    steps.add(launch(35, 40, 60));
    steps.add(launch(55, 65, 100));
    steps.add(launch(70, 100, 100));
    CHECK(steps.spans() == Intervals{{10, 60}, {60, 100}});
}

//  host        |───0───|                a was launched before, b reaches over the mark
//  calls  a  b   c
//  GPU      aaa bbbbbb cc               a 5..14, b 16..24, c 24..30
TEST_CASE("work from before the first step is not its own", "[torch]") {
    TorchSteps steps({{10, 50}});
    steps.add(launch(1, 5, 14));
    steps.add(launch(8, 16, 23));
    steps.add(launch(12, 24, 30));
    CHECK(steps.spans() == Intervals{{23, 50}});
    TorchSteps behind({{10, 50}});
    behind.add(launch(12, 24, 30));
    behind.add(launch(60, 70, 80));
    CHECK(behind.spans() == Intervals{{10, 50}});
}

//  host        |───0───|                x and y were launched before recording began, so their calls are
//  missing calls           c GPU      xxxxxx    yy  cc            x 5..23, y 25..27 (it ends after c began),
//  c 24..30
TEST_CASE("work whose launch was not recorded is no step's, either", "[torch]") {
    TorchSteps steps({{10, 50}});
    steps.add_alone({5, 23});
    steps.add(launch(12, 24, 30));
    steps.add_alone({25, 27});
    CHECK(steps.spans() == Intervals{{23, 50}});
    TorchSteps none({});
    none.add_alone({5, 23});
    CHECK(none.spans().empty());
}

TEST_CASE("a launch call over a mark is no step's", "[torch]") {
    TorchSteps steps({{10, 50}, {50, 90}});
    steps.add(launch(12, 20, 30));
    steps.add(launch(49, 60, 200));
    steps.add(launch(55, 65, 70));
    CHECK(steps.spans() == Intervals{{10, 50}, {50, 90}});
}

TEST_CASE("steps at the end whose work is missing are left out", "[torch]") {
    TorchSteps steps({{0, 100}, {100, 200}, {200, 300}, {300, 400}});
    for (int i = 0; i < 10; ++i) steps.add(launch(i * 5, i * 5 + 1, i * 5 + 3));
    for (int i = 0; i < 10; ++i) steps.add(launch(100 + i * 5, 101 + i * 5, 103 + i * 5));
    SECTION("as most of it is") {
        for (int i = 0; i < 7; ++i) steps.add(launch(200 + i * 5, 201 + i * 5, 203 + i * 5));
        CHECK(steps.spans().size() == 2);
    }
    SECTION("a little less is ordinary") {
        for (int i = 0; i < 8; ++i) steps.add(launch(200 + i * 5, 201 + i * 5, 203 + i * 5));
        CHECK(steps.spans().size() == 3);
    }
    SECTION("nothing was launched at all") {
        CHECK(TorchSteps({{0, 100}}).spans().empty());
        CHECK(TorchSteps({}).spans().empty());
    }
}

//  kernel       |=====|                 20..40
//  memcpy          |=======|            30..50
//  runtime  |====|                      10..25
//  loader         |==============|      28..70
//  cpu_exec |===========================| 5..80
//  step     |──────────────────────────────|  0..90
TEST_CASE("an instant is the first of what there is", "[torch]") {
    TorchSums sums({{0, 90}});
    sums.add(TorchRole::cpu_exec, {5, 80});
    sums.add(TorchRole::runtime, {10, 25});
    sums.add(TorchRole::kernel, {20, 40});
    sums.add(TorchRole::data_loader, {28, 70});
    sums.add(TorchRole::memcpy, {30, 50});
    sums.finish();
    CHECK(sums.ns()[0] == Ns{20, 10, 0, 0, 10, 20, 15, 15});
    CHECK(sums.out_of_order() == 0);
}

//  kernel   |====| |====|    |==|         5..25, 30..50, 60..70
//  steps      |──0──|──1──|    |2|        10..40, 40..55, 62..66
TEST_CASE("what lies over the ends of steps is cut, and between them it is nobody's", "[torch]") {
    TorchSums sums({{10, 40}, {40, 55}, {62, 66}});
    sums.add(TorchRole::kernel, {5, 25});
    sums.add(TorchRole::kernel, {30, 50});
    sums.add(TorchRole::kernel, {60, 70});
    sums.finish();
    CHECK(sums.ns() == std::vector<Ns>{{25, 0, 0, 0, 0, 0, 0, 5}, {10, 0, 0, 0, 0, 0, 0, 5}, {4}});
}

TEST_CASE("a step in which nothing begins is what went on, then nothing", "[torch]") {
    TorchSums sums({{10, 20}, {20, 30}, {30, 40}});
    sums.add(TorchRole::memset, {0, 25});
    sums.finish();
    CHECK(sums.ns() ==
          std::vector<Ns>{{0, 0, 10, 0, 0, 0, 0, 0}, {0, 0, 5, 0, 0, 0, 0, 5}, {0, 0, 0, 0, 0, 0, 0, 10}});
    TorchSums empty({{10, 20}});
    empty.finish();
    CHECK(empty.ns()[0][7] == 10);
}

TEST_CASE("what comes too late is counted", "[torch]") {
    TorchSums sums({{0, 100}});
    sums.add(TorchRole::kernel, {50, 60});
    sums.add(TorchRole::kernel, {20, 30});
    CHECK(sums.out_of_order() == 1);
}

}  // namespace torch_test
