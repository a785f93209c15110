// The same work for several things at once.
#include "analysis/parallel/in_parallel.h"

#include <atomic>
#include <stdexcept>
#include <vector>

#include <catch2/catch.hpp>

namespace in_parallel_test {

using namespace gpushim::analysis;

TEST_CASE("each is done once, by however many threads", "[in_parallel]") {
    const size_t most = GENERATE(size_t{0}, size_t{1}, size_t{3}, size_t{64});
    std::vector<std::atomic<int>> done(10);
    in_parallel(done.size(), most, [&](size_t i) { ++done[i]; });
    for (const std::atomic<int>& times : done) CHECK(times == 1);
}

TEST_CASE("a failure is thrown when all threads have ended, and no more is begun", "[in_parallel]") {
    const size_t most = GENERATE(size_t{1}, size_t{3});
    std::atomic<int> begun = 0;
    const auto fail = [&](size_t) {
        ++begun;
        throw std::runtime_error("made to fail");
    };
    CHECK_THROWS_WITH(in_parallel(100, most, fail), "made to fail");
    CHECK(begun <= static_cast<int>(most));
}

}  // namespace in_parallel_test
