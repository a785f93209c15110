// The writer inside a context, and a thread that ends it.
#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <thread>

#include "shim/timing/context_visits.h"
#include "shim/timing/event_pool.h"

namespace context_visits_test {

using namespace gpushim::shim;
using namespace std::chrono_literals;

TEST_CASE("a context that ends is not visited any more", "[context_visits]") {
    CHECK_FALSE(enter_context(0));
    CHECK(enter_context(3));
    leave_context();
    EventPool* pool = make_pool(3, nullptr);
    context_is_ending(3);
    CHECK_FALSE(enter_context(3));
    CHECK(enter_context(4));
    leave_context();
    CHECK_FALSE(pool->is_retired());
    context_has_ended(3, true);
    CHECK_FALSE(enter_context(3));
    CHECK(pool->is_retired());
    CHECK(is_ended(3));
    CHECK(visit_counts().waits == 0);
}

TEST_CASE("a context that lives on is visited again when all calls are over", "[context_visits][alone]") {
    EventPool* pool = make_pool(3, nullptr);
    context_is_ending(3);
    context_is_ending(3);
    context_has_ended(3, false);
    CHECK_FALSE(enter_context(3));
    context_has_ended(3, false);
    CHECK(enter_context(3));
    leave_context();
    CHECK_FALSE(pool->is_retired());
    CHECK_FALSE(is_ended(3));
}

TEST_CASE("who ends a context waits until the writer is out", "[context_visits][alone]") {
    REQUIRE(enter_context(3));
    std::atomic<bool> out = false;
    std::atomic<bool> was_out = false;
    std::thread ending([&] {
        context_is_ending(3);
        was_out = out.load();
    });
    while (visit_counts().waits == 0) std::this_thread::yield();
    out = true;
    leave_context();
    ending.join();
    CHECK(was_out);
    CHECK(visit_counts().given_up == 0);
    CHECK_FALSE(enter_context(3));
}

TEST_CASE("nobody waits for the writer for ever, nor for a visit elsewhere", "[context_visits][alone]") {
    REQUIRE(enter_context(3));
    context_is_ending(4);
    CHECK(visit_counts().waits == 0);
    context_is_ending(3);
    CHECK(visit_counts().waits == 1);
    CHECK(visit_counts().given_up == 1);
    leave_context();
}

TEST_CASE("contexts beyond those that are counted are not visited", "[context_visits]") {
    CHECK_FALSE(enter_context(1 << 20));
    context_is_ending(1 << 20);
    context_has_ended(1 << 20, true);
    CHECK_FALSE(is_ended(1 << 20));
}

TEST_CASE("a device's primary context is known once it was given", "[context_visits]") {
    CHECK(primary_context_of(1) == 0);
    primary_context_is(1, 77);
    primary_context_is(-1, 78);
    primary_context_is(10'000, 78);
    CHECK(primary_context_of(1) == 77);
    CHECK(primary_context_of(0) == 0);
    CHECK(primary_context_of(-1) == 0);
    forget_context_visits();
    CHECK(primary_context_of(1) == 0);
}

}  // namespace context_visits_test
