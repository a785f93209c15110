// What one thread gives another: all of it, in order, and what went wrong in its place.
#include "analysis/parallel/read_ahead.h"

#include <atomic>
#include <stdexcept>

#include <catch2/catch.hpp>

namespace read_ahead_test {

using namespace gpushim::analysis;

namespace {

constexpr int kMany = 100'000;

// Of 0, 1, 2 … as many; then it fails where that is asked.
ReadAhead<int>::Source numbers(int count, bool fails = false) {
    return [next = 0, count, fails](int& number) mutable {
        if (next < count) {
            number = next++;
            return true;
        }
        if (fails) throw std::runtime_error("no more");
        return false;
    };
}

}  // namespace

TEST_CASE("what is read ahead is what would be read at the moment", "[read_ahead]") {
    const bool has_thread = GENERATE(false, true);
    const int count = GENERATE(0, 1, 511, 512, 513, kMany);
    ReadAhead<int> ahead(numbers(count), has_thread);
    int expected = 0;
    while (const int* number = ahead.next()) {
        if (*number != expected) FAIL(*number << " in place of " << expected);
        ++expected;
    }
    CHECK(expected == count);
    CHECK(ahead.next() == nullptr);
}

TEST_CASE("a source that fails does so behind what it gave", "[read_ahead]") {
    const bool has_thread = GENERATE(false, true);
    const int count = GENERATE(0, 5, 512, kMany);
    ReadAhead<int> ahead(numbers(count, true), has_thread);
    for (int i = 0; i < count; ++i) {
        const int* number = ahead.next();
        if (number == nullptr || *number != i) FAIL("not " << i);
    }
    CHECK_THROWS_WITH(ahead.next(), "no more");
}

TEST_CASE("who has read enough leaves, and the source is not asked for ever", "[read_ahead]") {
    std::atomic<int64_t> asked = 0;
    {
        ReadAhead<int> ahead(
            [&](int& number) {
                number = 7;
                ++asked;
                return true;
            },
            true);
        const int* number = ahead.next();
        REQUIRE(number != nullptr);
        CHECK(*number == 7);
    }
    CHECK(asked <= 100'000);
}

TEST_CASE("no more is handed over than was agreed, but for one item that is heavier", "[read_ahead]") {
    constexpr size_t kMost = 10;
    Handover<int> handover(kMost);
    std::atomic<int> given = 0, taken = 0, most = 0;
    std::thread giver([&] {
        for (int i = 0; i < 1000; ++i) {
            if (!handover.put(i, i % 100 == 0 ? 2 * kMost : 1)) return;
            most = std::max(most.load(), ++given - taken);
        }
        handover.end();
    });
    int expected = 0;
    while (const auto item = handover.take()) {
        CHECK(*item == expected++);
        ++taken;
    }
    giver.join();
    CHECK(expected == 1000);
    CHECK(most <= static_cast<int>(kMost) + 2);  // one is being taken, one was counted late
}

TEST_CASE("a giver whose taker has left is told so", "[read_ahead]") {
    Handover<int> handover(1);
    CHECK(handover.put(1, 1));
    std::thread taker([&] { handover.leave(); });
    CHECK_FALSE(handover.put(2, 1));
    taker.join();
}

}  // namespace read_ahead_test
