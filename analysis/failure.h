// What ends a command: one line for stderr that says what, where and what to do next, and the exit code of
// it. Thrown anywhere, caught once, in main.
#pragma once

#include <stdexcept>
#include <string>

namespace gpushim::analysis {

enum ExitCode { kFine = 0, kSlower = 1, kHung = 1, kUsage = 2, kIncomplete = 3 };

struct Failure : std::runtime_error {
    explicit Failure(const std::string& what, ExitCode code = kUsage)
        : std::runtime_error(what), code_(code) {}
    ExitCode code_;
};

// A file could not be made or written where it was to be; another place may do.
struct Unwritable : Failure {
    explicit Unwritable(const std::string& what) : Failure(what, kIncomplete) {}
};

}  // namespace gpushim::analysis
