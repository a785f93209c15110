// Which functions have been seen before a programmatic launch.
#include "shim/timing/programmatic.h"

#include <catch2/catch.hpp>

namespace programmatic_test {

using namespace gpushim::shim;

TEST_CASE("a function that was before a programmatic launch stays one", "[programmatic]") {
    forget_programmatic();
    CHECK_FALSE(has_programmatic_successor(0));
    CHECK_FALSE(has_programmatic_successor(0xf00));
    note_programmatic_successor(0xf00);
    CHECK(has_programmatic_successor(0xf00));
    CHECK_FALSE(has_programmatic_successor(0xf10));
}

TEST_CASE("a fork has counted nothing and knows of no successor", "[programmatic]") {
    note_programmatic_successor(0xf00);
    count_programmatic();
    CHECK(programmatic_operations() != 0);
    forget_programmatic();
    CHECK(programmatic_operations() == 0);
    CHECK_FALSE(has_programmatic_successor(0xf00));
}

}  // namespace programmatic_test
