// Pools of events: what is taken comes back, what was given back is known to be another's, and an end is an
// end.
#include <catch2/catch.hpp>
#include <set>
#include <thread>
#include <vector>

#include "shim/timing/event_pool.h"

namespace event_pool_test {

using namespace gpushim::shim;

namespace {

CUevent event(uintptr_t number) { return reinterpret_cast<CUevent>(number); }

EventPool& filled(uint32_t context, uintptr_t events) {
    EventPool* pool = make_pool(context, nullptr);
    REQUIRE(pool != nullptr);
    for (uintptr_t i = 1; i <= events; ++i) REQUIRE(pool->add(event(i)));
    return *pool;
}

}  // namespace

TEST_CASE("events are taken once, and again when they were given back", "[event_pool]") {
    EventPool& pool = filled(1, 2);
    const uint32_t first = pool.take();
    const uint32_t second = pool.take();
    CHECK(first != kNoEvent);
    CHECK(second != first);
    CHECK(std::set{pool.handle(first), pool.handle(second)} == std::set{event(1), event(2)});
    CHECK(pool.take() == kNoEvent);
    CHECK(pool.misses() == 1);
    pool.give(first);
    CHECK(pool.take() == first);
    CHECK(pool.made() == 2);
}

TEST_CASE("who remembers an event sees that it was given back", "[event_pool]") {
    EventPool& pool = filled(1, 1);
    const uint32_t taken = pool.take();
    const uint32_t before = pool.lives(taken);
    CHECK(pool.lives(taken) == before);
    pool.give(taken);
    CHECK(pool.lives(taken) != before);
    pool.give(kNoEvent);
    CHECK(pool.take() == taken);
    CHECK(pool.take() == kNoEvent);
}

TEST_CASE("a pool holds so many events and no more", "[event_pool]") {
    EventPool& pool = filled(1, kMostEventsOfOurs);
    CHECK_FALSE(pool.add(event(1)));
    CHECK(pool.made() == kMostEventsOfOurs);
    CHECK(pool.take() == kMostEventsOfOurs);
}

TEST_CASE("nothing is taken from a pool whose context ends", "[event_pool]") {
    EventPool& pool = filled(1, 3);
    pool.retire();
    CHECK(pool.is_retired());
    CHECK(pool.take() == kNoEvent);
    CHECK(pool.error() == CUDA_SUCCESS);
    CHECK(pool.misses() == 0);
}

TEST_CASE("a pool that is given up says why, by its first failure", "[event_pool]") {
    EventPool& pool = filled(1, 3);
    pool.failed("cuEventRecord", CUDA_ERROR_ILLEGAL_ADDRESS);
    pool.failed("cuEventQuery", CUDA_ERROR_UNKNOWN);
    CHECK(pool.is_retired());
    CHECK(pool.error() == CUDA_ERROR_ILLEGAL_ADDRESS);
    CHECK(std::string(pool.failed_call()) == "cuEventRecord");
}

TEST_CASE("a handle that is none any more ends nothing, unless it happens again and again", "[event_pool]") {
    EventPool& pool = filled(1, 3);
    for (uint32_t i = 0; i < kMostSlips; ++i) {
        CHECK(pool.failed("cuEventQuery", CUDA_ERROR_INVALID_HANDLE));
        CHECK_FALSE(pool.is_retired());
    }
    CHECK(pool.error() == CUDA_ERROR_INVALID_HANDLE);
    SECTION("it does") { CHECK_FALSE(pool.failed("cuEventRecord", CUDA_ERROR_INVALID_HANDLE)); }
    SECTION("something else does it") {
        CHECK_FALSE(pool.failed("cuEventRecord", CUDA_ERROR_UNKNOWN));
        CHECK(pool.error() == CUDA_ERROR_UNKNOWN);
    }
    CHECK(pool.is_retired());
    CHECK(std::string(pool.failed_call()) == "cuEventRecord");
}

TEST_CASE("that the driver has gone is no failure", "[event_pool]") {
    EventPool& pool = filled(1, 3);
    pool.failed("cuEventQuery", CUDA_ERROR_DEINITIALIZED);
    CHECK(pool.is_retired());
    CHECK(pool.error() == CUDA_SUCCESS);
}

TEST_CASE("pools are found by their contexts, until they are forgotten", "[event_pool]") {
    CHECK(pool_of(0) == nullptr);
    CHECK(pool_of(7) == nullptr);
    EventPool& seven = filled(7, 1);
    EventPool& eight = filled(8, 1);
    CHECK(pool_of(7) == &seven);
    CHECK(pool_of(8) == &eight);
    CHECK(make_pool(0, nullptr) == nullptr);
    forget_pools();
    CHECK(pool_of(7) == nullptr);
    CHECK(pool_of(8) == nullptr);
    for (uint32_t i = 1; i <= kMostPools; ++i) REQUIRE(make_pool(i, nullptr) != nullptr);
    CHECK(make_pool(kMostPools + 1, nullptr) == nullptr);
}

TEST_CASE("threads take and give at once, and no event is with two of them", "[event_pool][alone]") {
    constexpr size_t kThreads = 4, kEvents = 3;
    constexpr int kTurns = 50'000;
    EventPool& pool = filled(1, kEvents);
    std::atomic<int> held[kEvents + 1] = {};
    std::atomic<bool> shared = false;
    std::vector<std::thread> threads;
    for (size_t t = 0; t < kThreads; ++t)
        threads.emplace_back([&] {
            for (int i = 0; i < kTurns; ++i) {
                const uint32_t taken = pool.take();
                if (taken == kNoEvent) continue;
                if (held[taken].fetch_add(1) != 0) shared = true;
                held[taken].fetch_sub(1);
                pool.give(taken);
            }
        });
    for (std::thread& thread : threads) thread.join();
    CHECK_FALSE(shared);
    std::set<uint32_t> all;
    for (size_t i = 0; i < kEvents; ++i) all.insert(pool.take());
    CHECK(all == std::set<uint32_t>{1, 2, 3});
}

}  // namespace event_pool_test
