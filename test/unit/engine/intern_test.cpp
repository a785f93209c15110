#include "engine/intern.h"

#include <catch2/catch.hpp>
#include <string>

namespace intern_test {

using namespace gpusim;

TEST_CASE("equal strings are kept once and for ever", "[intern]") {
    const char* kept = nullptr;
    {
        std::string text = "a kernel's name that is too long to lie within the string itself";
        kept = intern(text);
        CHECK(intern(text.c_str()) == kept);
        CHECK(kept != text.data());
        text[0] = 'A';
        CHECK(intern(text) != kept);
    }
    for (int i = 0; i < 5000; ++i) intern(std::to_string(i));
    CHECK(std::string(kept).substr(0, 10) == "a kernel's");
    CHECK(intern("a kernel's name that is too long to lie within the string itself") == kept);
}

}  // namespace intern_test
