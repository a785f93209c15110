// What every test of the box starts with: knobs for this case, and calls whose result is checked.
// The runner gives each case a process of its own, so a case's knobs hold for that case alone. Some are read
// while the box's libraries are being loaded, so knobs() starts this process once more with them: it comes
// first in the case. Under sanitizers, too, a case of a file that includes this is [alone] in its process.
#pragma once

#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#undef TEST_CASE
#define TEST_CASE(name, tags) INTERNAL_CATCH_TESTCASE(name, tags "[alone]")

// Both stop the case when the call fails; the message names the call and the error's number.
#define CU(call) REQUIRE((call) == CUDA_SUCCESS)
#define CU_IS(call, expected) REQUIRE((call) == (expected))

namespace box {

inline void start_again() {
    std::ifstream file("/proc/self/cmdline");
    std::vector<std::string> words;
    for (std::string word; std::getline(file, word, '\0');) words.push_back(word);
    std::vector<char*> arguments;
    for (auto& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    execv("/proc/self/exe", arguments.data());
    FAIL("this program cannot be started again");
}

// knobs("GPUSIM_DEVICES=2 GPUSIM_CLOCK=stepped"). A second set in one process would not be read: it fails.
inline void knobs(const std::string& assignments) {
    constexpr const char* kGiven = "GPUSHIM_TEST_KNOBS";
    if (const char* given = std::getenv(kGiven)) {
        if (given != assignments)
            FAIL("a second set of knobs in one process: run each case by itself (test/run does)");
        return;
    }
    std::istringstream words(assignments);
    for (std::string word; words >> word;) {
        const auto equals = word.find('=');
        if (equals == std::string::npos) FAIL("not NAME=VALUE: " << word);
        setenv(word.substr(0, equals).c_str(), word.substr(equals + 1).c_str(), 1);
    }
    setenv(kGiven, assignments.c_str(), 1);
    start_again();
}

}  // namespace box
