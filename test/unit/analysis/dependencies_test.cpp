// What operations waited for beside their stream's order. Lanes 0, 1: GPU 0; 2, 3: GPU 1.
#include "analysis/run/pass/dependencies.h"

#include "busy_scene.h"

#include <catch2/catch.hpp>

namespace dependencies_test {

using namespace busy_scene;

namespace {

constexpr int64_t kEvent = 77;

struct Told {
    TraceFacts facts = facts_of(2, 2);
    Dependencies all{facts};

    Told() { all.begin(); }
    Told& ran_until(int32_t lane, int64_t enter, int64_t end) {
        all.operation(ran(launch(lane, enter, enter + 1), end - 1, end));
        return *this;
    }
    Told& tell(CallKind kind, int32_t lane, int64_t enter, int64_t event = kEvent) {
        all.take(other(kind, lane, event, enter, enter + 1));
        return *this;
    }
    Told& function(int32_t lane, int64_t enter) {
        all.take(other(CallKind::host_call, lane, kNoTarget, enter, enter + 1));
        return *this;
    }
    Dependency next(int32_t lane, int64_t enter) {
        return all.operation(ran(launch(lane, enter, enter + 1), 900, 901));
    }
};

}  // namespace

TEST_CASE("an event of another GPU that was not there when N was submitted", "[dependencies]") {
    const auto waiting = [](int32_t from, int64_t end) {
        Told told;
        told.ran_until(from, 0, end).tell(CallKind::record, from, 5).tell(CallKind::wait, 0, 10);
        return told.next(0, 20).other_gpu_until_ns;
    };
    CHECK(waiting(2, 100) == 100);
    CHECK(waiting(2, 21) == INT64_MIN);   // there as the call returned
    CHECK(waiting(1, 100) == INT64_MIN);  // of the same GPU
    Told told;
    told.ran_until(2, 0, 100).tell(CallKind::record, 2, 5).ran_until(2, 6, 200).tell(CallKind::wait, 0, 10);
    CHECK(told.next(0, 20).other_gpu_until_ns == 100);        // what came behind the event does not matter
    CHECK(told.next(0, 30).other_gpu_until_ns == INT64_MIN);  // it waits for the one before it
    told.tell(CallKind::wait, 0, 40, kEvent + 1);
    CHECK_FALSE(told.next(0, 50).any());  // an event that nobody recorded
    told.all.begin();
    told.tell(CallKind::wait, 0, 10);
    CHECK_FALSE(told.next(0, 20).any());
}

//  GPU 1  2 ███100|r    lane 0 waits for it and records an event of its own, which lane 1 waits for
TEST_CASE("a wait that is passed on through a stream keeps whose it is", "[dependencies]") {
    Told told;
    told.ran_until(2, 0, 100).tell(CallKind::record, 2, 5).tell(CallKind::wait, 0, 10);
    told.tell(CallKind::record, 0, 12, 78).tell(CallKind::wait, 1, 14, 78);
    CHECK(told.next(1, 20).other_gpu_until_ns == 100);
}

TEST_CASE("a function of the host holds the stream until something tells that it is over", "[dependencies]") {
    CHECK(Told().function(0, 5).next(0, 20).host_callback);
    CHECK_FALSE(Told().function(1, 5).next(0, 20).host_callback);
    Told then;
    then.function(0, 5).next(0, 20);
    CHECK_FALSE(then.next(0, 30).host_callback);

    CHECK_FALSE(Told().function(0, 5).tell(CallKind::sync, 0, 10).next(0, 20).host_callback);
    CHECK(Told().function(0, 5).tell(CallKind::sync, 1, 10).next(0, 20).host_callback);
    CHECK(Told().tell(CallKind::sync, 0, 3).function(0, 5).next(0, 20).host_callback);
    // The context of GPU 0; that of GPU 1.
    CHECK_FALSE(
        Told().function(0, 5).tell(CallKind::sync, kNoLane, 10, kContextHandle).next(0, 20).host_callback);
    CHECK(Told()
              .function(0, 5)
              .tell(CallKind::sync, kNoLane, 10, kContextHandle + 1)
              .next(0, 20)
              .host_callback);
    // An event behind it; one before it.
    CHECK_FALSE(Told()
                    .function(0, 5)
                    .tell(CallKind::record, 0, 7)
                    .tell(CallKind::sync, kNoLane, 10)
                    .next(0, 20)
                    .host_callback);
    CHECK(Told()
              .tell(CallKind::record, 0, 3)
              .function(0, 5)
              .tell(CallKind::sync, kNoLane, 10)
              .next(0, 20)
              .host_callback);
    // Another stream waits behind it.
    CHECK(Told()
              .function(1, 5)
              .tell(CallKind::record, 1, 7)
              .tell(CallKind::wait, 0, 9)
              .next(0, 20)
              .host_callback);
}

}  // namespace dependencies_test
