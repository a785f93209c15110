#include "analysis/text/width.h"

#include <catch2/catch.hpp>

namespace width_test {

using namespace gpushim::analysis;

TEST_CASE("a text is as wide as a terminal draws it", "[width]") {
    CHECK(width_of("") == 0);
    CHECK(width_of("µs →") == 4);
    CHECK(width_of("行列") == 4);                // two columns each
    CHECK(width_of("e\xcc\x81t\xcc\xa3") == 2);  // accents on the letters before them
    CHECK(width_of("🎈!") == 3);
}

TEST_CASE("a text is shortened by columns", "[width]") {
    CHECK(shortened("four", 4) == "four");
    CHECK(shortened("fives", 4) == "fiv…");
    CHECK(shortened("µµµµ", 3) == "µµ…");
    CHECK(shortened("行列積", 6) == "行列積");
    CHECK(shortened("行列積", 5) == "行列…");
    CHECK(shortened("行列積", 4) == "行…");  // half a letter is none
}

TEST_CASE("bytes of the letters that fit", "[width]") {
    CHECK(bytes_within("abc", 2) == 2);
    CHECK(bytes_within("µµ", 5) == 4);
    CHECK(bytes_within("行列", 3) == 3);
}

TEST_CASE("a text is filled up by columns", "[width]") {
    CHECK(padded("[RUN…]", 8) == "[RUN…]  ");
    CHECK(padded("行列", 5) == "行列 ");
    CHECK(padded("longer", 3) == "longer");
}

}  // namespace width_test
