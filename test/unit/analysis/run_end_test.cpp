#include "analysis/command/run_end.h"

#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <string>

namespace run_end_test {

using namespace gpushim::analysis;

namespace {

std::vector<LeftTrace> made(size_t count, const std::string& folder = "/nowhere/traces") {
    std::vector<LeftTrace> traces;
    for (size_t i = 0; i < count; ++i) traces.push_back({folder + "/" + std::to_string(i) + ".db", 940e3});
    return traces;
}

std::vector<std::string> why(const RunLeft& left, std::string program) {
    char* words[] = {program.data()};
    return why_no_trace(left, words);
}

}  // namespace

TEST_CASE("the traces of a run, and what to type next", "[run_end]") {
    CHECK(traces_text(made(1), 0, "gpushim") ==
          "1 trace: /nowhere/traces/0.db (940 kB); next: gpushim report /nowhere/traces/0.db");
    CHECK(
        traces_text(made(2), 0, "build/gpushim") ==
        "2 traces: /nowhere/traces/0.db (940 kB), /nowhere/traces/1.db (940 kB); next: build/gpushim report "
        "/nowhere/traces");
}

TEST_CASE("at most five traces are named", "[run_end]") {
    const std::string text = traces_text(made(7), 0, "gpushim");
    CHECK(text.find("/4.db (940 kB) and 2 more; next: ") != std::string::npos);
    CHECK(text.find("/5.db") == std::string::npos);
    CHECK(traces_text(made(5), 0, "gpushim").find("more") == std::string::npos);
}

TEST_CASE("a folder is quoted where a shell would take it apart", "[run_end]") {
    CHECK(traces_text(made(2, "/no/it's here"), 0, "gpushim").ends_with("report '/no/it'\\''s here'"));
}

TEST_CASE("paths are as seen from here", "[run_end]") {
    const std::string here = std::filesystem::current_path().string();
    CHECK(traces_text(made(2, here + "/traces"), 0, "gpushim").ends_with("report traces"));
    CHECK(traces_text(made(2, here), 0, "gpushim").ends_with("report ."));
}

TEST_CASE("processes that could not make theirs are counted beside", "[run_end]") {
    CHECK(traces_text(made(1), 2, "gpushim").find("; 2 processes could not make a trace") !=
          std::string::npos);
}

TEST_CASE("what is known to have kept traces away comes instead of what may have", "[run_end]") {
    unsetenv("GPUSHIM_DISABLE");
    setenv("GPUSHIM_RANKS", "8-15", 1);
    RunLeft left;
    left.left_out = {"0", "1"};
    CHECK(why(left, "/bin/true") == std::vector<std::string>{"GPUSHIM_RANKS=8-15 leaves out rank 0, 1"});
    left = {};
    left.failed = 1;
    REQUIRE(why(left, "/bin/true").size() == 1);
    CHECK(why(left, "/bin/true")[0].find("1 process made a CUDA context") == 0);
    setenv("GPUSHIM_DISABLE", "1", 1);
    CHECK(why(left, "/bin/true") == std::vector<std::string>{"GPUSHIM_DISABLE=1 switches the library off"});
}

TEST_CASE("without a known reason the usual ones are named", "[run_end]") {
    const std::string text = nothing_text({}, "gpushim");
    for (const char* part :
         {"no process here made a CUDA context", "statically", "LD_PRELOAD", "gpushim doctor"})
        CHECK(text.find(part) != std::string::npos);
    CHECK(nothing_text({"a", "b"}, "gpushim") == "nothing was traced: a; b");
}

}  // namespace run_end_test
