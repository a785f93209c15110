// What every test of the box starts with: knobs for this case, and calls whose result is checked.
// The runner gives each case a process of its own, so a case's knobs hold for that case alone; they are
// read at the first use of the box, so box::knobs() comes first in the case.
#pragma once

#include <catch2/catch.hpp>
#include <cstdlib>
#include <sstream>
#include <string>

// Both stop the case when the call fails; the message names the call and the error's number.
#define CU(call) REQUIRE((call) == CUDA_SUCCESS)
#define CU_IS(call, expected) REQUIRE((call) == (expected))

namespace box {

// knobs("GPUSIM_DEVICES=2 GPUSIM_CLOCK=stepped"). A second set in one process would not be read: it fails.
inline void knobs(const char* assignments) {
    static bool given = false;
    if (given) FAIL("a second set of knobs in one process: run each case by itself (test/run does)");
    given = true;
    std::istringstream words(assignments);
    for (std::string word; words >> word;) {
        const auto equals = word.find('=');
        if (equals == std::string::npos) FAIL("not NAME=VALUE: " << word);
        setenv(word.substr(0, equals).c_str(), word.substr(equals + 1).c_str(), 1);
    }
}

}  // namespace box
