// Knobs for one case, also those that the box's libraries read while they are loaded, and a simulated box
// that the case shares with nobody: for cases that look at the engine itself or at what processes see of each
// other. The first statement of a case: the program starts over with the knobs in its environment.
#pragma once

#include <glob.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

inline void run_again() {
    std::vector<std::string> words;
    std::ifstream line("/proc/self/cmdline");
    for (std::string word; std::getline(line, word, '\0');) words.push_back(word);
    std::vector<char*> arguments;
    for (auto& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    std::fflush(nullptr);
    execv("/proc/self/exe", arguments.data());
    FAIL("cannot start over");
}

// with_knobs("GPUSIM_DEVICES=2 GPUSIM_CLOCK=stepped")
inline void with_knobs(const std::string& assignments) {
    if (const char* given = std::getenv("KNOBS_OF_THIS_CASE")) {
        if (given != assignments) FAIL("a second set of knobs in one process");
        return;
    }
    setenv("KNOBS_OF_THIS_CASE", assignments.c_str(), 1);
    std::istringstream words(assignments);
    for (std::string word; words >> word;) {
        const auto equals = word.find('=');
        if (equals == std::string::npos) FAIL("not NAME=VALUE: " << word);
        setenv(word.substr(0, equals).c_str(), word.substr(equals + 1).c_str(), 1);
    }
    run_again();
}

class OwnBox {
  public:
    explicit OwnBox(const std::string& knobs = "") : name_("case-" + std::to_string(getpid())) {
        with_knobs("GPUSIM_BOX=" + name_ + " " + knobs);
    }
    ~OwnBox() {
        if (getpid() != owner_) return;
        glob_t found;
        if (glob(("/dev/shm/gpusim-*-" + name_ + ".box*").c_str(), 0, nullptr, &found) == 0)
            for (size_t i = 0; i < found.gl_pathc; ++i) unlink(found.gl_pathv[i]);
        globfree(&found);
    }
    OwnBox(const OwnBox&) = delete;
    OwnBox& operator=(const OwnBox&) = delete;

  private:
    std::string name_;
    pid_t owner_ = getpid();
};
