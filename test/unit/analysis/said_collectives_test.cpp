// Collectives that ranges of their threads tell of.
#include "analysis/importer/said_collectives.h"

#include <catch2/catch.hpp>

namespace said_collectives_test {

using namespace gpushim::analysis;

//  thread 7   |══1══|   |═════2═════|
//                          |══3══|
TEST_CASE("a launch is of the innermost range around it on its thread", "[collective]") {
    SaidCollectives said;
    said.add(7, 300, 400, 2);  // in any order
    said.add(7, 100, 200, 1);
    said.add(7, 320, 350, 3);
    said.add(8, 0, 1000, 4);
    said.add(7, 500, 500, 5);  // of no length
    CHECK(said.at(7, 150) == 1);
    CHECK(said.at(7, 99) == std::nullopt);
    CHECK(said.at(7, 200) == std::nullopt);
    CHECK(said.at(7, 310) == 2);
    CHECK(said.at(7, 330) == 3);
    CHECK(said.at(7, 350) == 2);
    CHECK(said.at(7, 500) == std::nullopt);
    CHECK(said.at(8, 150) == 4);
    CHECK(said.at(9, 150) == std::nullopt);
    said.add(7, 600, 700, 6);
    CHECK(said.at(7, 650) == 6);
}

TEST_CASE("how many elements tensors have, if it is said of all", "[collective]") {
    CHECK(elements_in("[[384]]") == 384);
    CHECK(elements_in("[[384, 2], [4]]") == 772);
    CHECK(elements_in("[[0]]") == 0);
    for (const char* unsaid : {"", "[]", "[[]]", "[[4], []]", "[[-1]]", "[[a]]", "[4]", "[[4]", "4",
                               "[[9223372036854775807, 2]]", "[[9223372036854775807], [1]]"}) {
        INFO(unsaid);
        CHECK(elements_in(unsaid) == std::nullopt);
    }
}

TEST_CASE("of which type tensors are, if all are of one", "[collective]") {
    CHECK(type_in(R"(["float"])") == "float");
    CHECK(type_in(R"(["c10::Half", "c10::Half"])") == "c10::Half");
    CHECK(type_in(R"(["float", "int"])").empty());
    CHECK(type_in(R"(["float", "int)").empty());
    CHECK(type_in("[]").empty());
    CHECK(type_in("").empty());
}

}  // namespace said_collectives_test
