// What followed a function in its stream.
#include "shim/programmatic.h"

#include <catch2/catch.hpp>

using namespace gpushim::shim;

TEST_CASE("a function is followed by what followed it the last time", "[programmatic]") {
    forget_programmatic();
    CHECK_FALSE(has_programmatic_successor(0));
    CHECK_FALSE(has_programmatic_successor(0xf00));
    note_successor(0xf00, true);
    CHECK(has_programmatic_successor(0xf00));
    CHECK_FALSE(has_programmatic_successor(0xf10));
    note_successor(0xf10, false);  // of another: nothing to forget
    CHECK(has_programmatic_successor(0xf00));
    note_successor(0xf00, false);
    CHECK_FALSE(has_programmatic_successor(0xf00));
}

TEST_CASE("a fork has counted nothing and knows of no successor", "[programmatic]") {
    note_successor(0xf00, true);
    count_programmatic();
    CHECK(programmatic_operations() != 0);
    forget_programmatic();
    CHECK(programmatic_operations() == 0);
    CHECK_FALSE(has_programmatic_successor(0xf00));
}
