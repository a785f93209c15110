// What living processes are doing at this moment: which traces they write, and which call each of their
// threads is inside of, which no row tells before it returns. Reads only. From any thread.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace gpushim::analysis {

struct LiveTrace {
    int64_t pid;
    std::filesystem::path trace;
};
std::vector<LiveTrace> live_traces();  // of this user, as far as their rings are not private

struct OpenCall {
    int64_t tid, enter_ns;
    std::string name, kind;
};
// Empty: no thread is inside of one, or the process is gone.
std::vector<OpenCall> open_calls_of(const std::filesystem::path& trace);

}  // namespace gpushim::analysis
