// For what must end the whole program: this test's program is started with a knob in its environment, only to
// list its cases, which loads the box; what became of it is looked at.
#pragma once

#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <cstdio>
#include <string>

struct Ended {
    int status = 0;
    std::string error;  // what it wrote to stderr
};

inline Ended end_of_this_program_with(const std::string& knob) {
    const std::string command =
        knob + " /proc/" + std::to_string(getpid()) + "/exe --list-test-names-only 2>&1 >/dev/null";
    FILE* pipe = popen(command.c_str(), "r");
    REQUIRE(pipe != nullptr);
    Ended ended;
    std::array<char, 512> line;
    while (std::fgets(line.data(), line.size(), pipe) != nullptr) ended.error += line.data();
    ended.status = WEXITSTATUS(pclose(pipe));
    return ended;
}
