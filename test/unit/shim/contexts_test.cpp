#include "shim/timing/contexts.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <set>
#include <thread>
#include <vector>

namespace contexts_test {

using namespace gpushim::shim;

TEST_CASE("each context has a number, each life another", "[contexts]") {
    const uint32_t a = context_number(0x7f0000001000);
    const uint32_t b = context_number(0x7f0000002000);
    CHECK(a != 0);
    CHECK(b != 0);
    CHECK(a != b);
    CHECK(context_number(0x7f0000001000) == a);
    context_gone(0x7f0000001000);
    // Until there is another one, its address says nothing, and nobody is led to it.
    CHECK(context_number(0x7f0000001000) == 0);
    CHECK(known_context_number(0x7f0000001000) == 0);
    NumberedContext all[4] = {};
    CHECK(numbered_contexts(all, 4) == 1);
    CHECK(all[0].number == b);
    context_is_born(0x7f0000001000);
    const uint32_t again = context_number(0x7f0000001000);
    CHECK(again != 0);
    CHECK(again != a);
    CHECK(again != b);
    CHECK(context_number(0x7f0000002000) == b);
    CHECK(context_number(0) == 0);
    context_gone(0);
    context_gone(0x123);
    context_is_born(0);
    context_is_born(0x7f0000002000);
    CHECK(context_number(0x7f0000002000) == b);
}

TEST_CASE("threads that ask at once are told the same", "[contexts]") {
    for (uint64_t handle = 1; handle < 200; ++handle) {
        std::atomic<bool> go = false;
        uint32_t numbers[3];
        std::vector<std::thread> threads;
        for (auto& number : numbers)
            threads.emplace_back([&, handle] {
                while (!go) {
                }
                number = context_number(handle << 12);
            });
        go = true;
        for (auto& thread : threads) thread.join();
        REQUIRE(numbers[0] == numbers[1]);
        REQUIRE(numbers[0] == numbers[2]);
    }
}

TEST_CASE("beyond 1024 addresses there is no number", "[contexts][alone]") {
    std::set<uint32_t> numbers;
    for (uint64_t i = 1; i <= 1024; ++i) numbers.insert(context_number(i << 8));
    CHECK(numbers.size() == 1024);
    CHECK(numbers.count(0) == 0);
    CHECK(context_number(uint64_t{5000} << 8) == 0);
    CHECK(context_number(uint64_t{7} << 8) != 0);
}

}  // namespace contexts_test
