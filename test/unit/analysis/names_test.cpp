#include "analysis/text/names.h"

#include <catch2/catch.hpp>

namespace names_test {

using namespace gpushim::analysis;

namespace {
const std::vector<std::string> kOptions = {"bandwidth", "bandwidth-between", "json", "markdown", "html"};
}

TEST_CASE("five names are listed, and how many more there are", "[names]") {
    const std::vector<std::string> names = {"a", "b", "c", "d", "e", "f", "g"};
    CHECK(listed({}) == "");
    CHECK(listed(std::span(names).first(5)) == "a, b, c, d, e");
    CHECK(listed(std::span(names).first(6)) == "a, b, c, d, e … and 1 more");
    CHECK(listed(names) == "a, b, c, d, e … and 2 more");
}

TEST_CASE("a slip is answered with what was meant", "[names]") {
    CHECK(perhaps("jsno", kOptions, "--") == "; did you mean --json?");  // swapped
    CHECK(perhaps("markdwn", kOptions) == "; did you mean markdown?");   // left out
    CHECK(perhaps("HTMLL", kOptions) == "; did you mean html?");         // added, in other letters
    CHECK(perhaps("band", kOptions) == "; did you mean bandwidth or bandwidth-between?");
    CHECK(perhaps("quux", kOptions) == "");
    CHECK(perhaps("", kOptions) == "");
    CHECK(perhaps(std::string(100'000, 'x'), kOptions) == "");
}

TEST_CASE("tables are listed by how much they are like the word", "[names]") {
    CHECK(most_alike_first("launches", {"api", "v_launch", "launch"}) ==
          std::vector<std::string>{"launch", "v_launch", "api"});
    CHECK(most_alike_first("x", {"b", "a"}) == std::vector<std::string>{"b", "a"});
}

}  // namespace names_test
