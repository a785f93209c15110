// What is inferred of operations without device times from those before and behind them.
#include "analysis/busy/chains.h"

#include "calls.h"

#include <catch2/catch.hpp>

namespace chains_test {

using namespace made;

namespace {

constexpr OwnCost kCost = {1500, 0, 2500, 4000, 1000};

// A runs until 100 us; U and V have no times; B was launched behind them and starts at 180 us.
//
//   A █████████████      █████ B
//                  U V V
struct Scene {
    Call a = ran(launch(0, 0, 4'000), 8'000, 100'000, 2);
    Call u = launch(0, 10'000, 14'000);
    Call v = launch(0, 20'000, 24'000);
    Call b = ran(launch(0, 30'000, 34'000), 180'000, 200'000, 2);
    std::vector<Call> between = {};  // v and b

    std::vector<Call> timed() const {
        std::vector<Call> calls = {a, u, v};
        calls.insert(calls.end(), between.begin(), between.end());
        calls.push_back(b);
        time_chains(calls, lanes(2), {{0, kCost}});
        return calls;
    }
    bool finds() const { return timed()[1].timed; }
};

}  // namespace

TEST_CASE("what lies between two operations of a full queue ran all the time", "[chains]") {
    const std::vector<Call> calls = Scene().timed();
    REQUIRE(calls[1].timed);
    CHECK(calls[1].chain == 2);
    CHECK(calls[1].times.start_ns == 102'500);  // our event behind A, and the one before B, are not theirs
    CHECK(calls[1].times.end_ns == 177'500);
    CHECK(calls[1].times.start_high_ns == calls[1].times.end_low_ns);  // nothing is certain
    CHECK(calls[1].times.events == 0);
    CHECK_FALSE(calls[2].timed);
    CHECK(calls[0].chain == 0);
    CHECK(calls[3].chain == 0);
}

TEST_CASE("a queue that may have run empty tells nothing of what was in it", "[chains]") {
    Scene late_chain;
    late_chain.v = launch(0, 95'000, 99'000);  // and 4.5 us until it can start
    late_chain.b = ran(launch(0, 105'000, 109'000), 180'000, 200'000, 2);
    CHECK_FALSE(late_chain.finds());
    Scene late_next;
    late_next.b = ran(launch(0, 170'000, 174'000), 180'000, 200'000, 2);
    CHECK_FALSE(late_next.finds());
    Scene estimated;
    estimated.b.times.queued = false;
    CHECK_FALSE(estimated.finds());
    Scene without_own_stamp;  // its start is the end of what was timed before it
    without_own_stamp.b.times.events = 1;
    CHECK_FALSE(without_own_stamp.finds());
    Scene no_room;
    no_room.b = ran(launch(0, 30'000, 34'000), 104'000, 200'000, 2);
    CHECK_FALSE(no_room.finds());
}

TEST_CASE("what may have waited for something else is no chain", "[chains]") {
    for (const CallKind kind : {CallKind::wait, CallKind::host_call, CallKind::gone}) {
        Scene scene;
        scene.between = {other(kind, 0, 5, 26'000, 27'000)};
        CHECK_FALSE(scene.finds());
        scene.between = {other(kind, 1, 5, 26'000, 27'000)};  // of another stream
        CHECK(scene.finds());
    }
    Scene rows_gone;
    rows_gone.between = {other(CallKind::gone, kNoLane, kNoTarget, 26'000, 27'000)};
    CHECK_FALSE(rows_gone.finds());
    Scene no_operation;
    no_operation.between = {other(CallKind::record, 0, 5, 26'000, 27'000)};
    CHECK(no_operation.finds());
}

TEST_CASE("operations of several kinds, or in an order that is not known, are no chain", "[chains]") {
    Scene copies_too;
    copies_too.v.type = OperationClass::d2d;
    CHECK_FALSE(copies_too.finds());
    Scene beside;
    beside.v = launch(0, 12'000, 24'000, 2);
    CHECK_FALSE(beside.finds());
    Scene none_before;
    none_before.a.timed = false;
    CHECK_FALSE(none_before.finds());
}

TEST_CASE("a chain behind a chain begins with what lies between them", "[chains]") {
    Scene scene;
    std::vector<Call> calls = scene.timed();
    calls.push_back(launch(0, 40'000, 44'000));
    calls.push_back(ran(launch(0, 50'000, 54'000), 300'000, 310'000, 2));
    time_chains(calls, lanes(1), {});  // what our events take is not known
    CHECK(calls[4].chain == 1);
    CHECK(calls[4].times.start_ns == 200'000);
    CHECK(calls[4].times.end_ns == 300'000);
}

}  // namespace chains_test
