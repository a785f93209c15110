// Operators of PyTorch among the ranges of an export of Nsight Systems.
#include "analysis/importer/nsys/nsys_operators.h"

#include <catch2/catch.hpp>

namespace nsys_operators_test {

using namespace gpushim::analysis;

TEST_CASE("a range that ends with an operator's numbers is an operator", "[nsys]") {
    const auto add = operator_in("aten::add, seq = 12, op_id = 34, sizes = [[2, 3], []]");
    REQUIRE(add);
    CHECK(add->name == "aten::add");
    CHECK(add->sequence == 12);
    CHECK_FALSE(add->is_backward);
    const auto empty = operator_in("aten::empty, op_id = 5");
    REQUIRE(empty);
    CHECK(empty->name == "aten::empty");
    CHECK_FALSE(empty->sequence);
    CHECK(operator_in("autograd::engine::evaluate_function: MmBackward0, seq = 7, op_id = 9")->is_backward);
    for (const char* const own : {"forward", "step, op_id", "a, seq = x", ", op_id = 3", "", "op_id = 3"})
        CHECK_FALSE(operator_in(own));
}

//  calls      0|──────────────────|100
//  operators       |20──────80|
TEST_CASE("outside of its operators nothing is told of a thread", "[nsys]") {
    using Both = std::pair<Interval, Interval>;
    CHECK(untold_around({20, 80}, {0, 100}) == Both{{0, 20}, {80, 100}});
    CHECK(untold_around({-5, 120}, {0, 100}) == Both{{-6, -5}, {120, 121}});
}

}  // namespace nsys_operators_test
