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

namespace {

Call collective(int32_t lane, int64_t enter, int64_t start, int64_t end) {
    Call call = ran(launch(lane, enter, enter + 1), start, end);
    call.type = OperationClass::comm;
    return call;
}

}  // namespace

//  lane 0   ██1 0–100|r1██2 100–200|r2                ███3 (waits for B)
//  lane 1            [──A 100–300──][──B 300–320──]r3
TEST_CASE("a collective is ready by its work, and stands behind another", "[dependencies]") {
    Told told;
    told.ran_until(0, 0, 100).tell(CallKind::record, 0, 5, 1).tell(CallKind::wait, 1, 6, 1);
    const Dependency a = told.all.operation(collective(1, 10, 100, 300));
    CHECK(a.work_ready_ns == 100);
    CHECK(a.after_enter_ns == INT64_MIN);
    CHECK(a.behind_enter_ns == INT64_MIN);
    told.ran_until(0, 12, 200).tell(CallKind::record, 0, 15, 2).tell(CallKind::wait, 1, 16, 2);
    const Dependency b = told.all.operation(collective(1, 20, 300, 320));
    CHECK(b.work_ready_ns == 200);
    CHECK(b.ready_ns == 300);
    CHECK(b.behind_enter_ns == 10);
    CHECK(b.after_enter_ns == INT64_MIN);
    // Behind B, through lane 0's work.
    told.tell(CallKind::record, 1, 25, 3).tell(CallKind::wait, 0, 26, 3).ran_until(0, 30, 400);
    told.tell(CallKind::record, 0, 35, 4).tell(CallKind::wait, 1, 36, 4);
    const Dependency c = told.all.operation(collective(1, 40, 400, 420));
    CHECK(c.work_ready_ns == 400);
    CHECK(c.after_enter_ns == 20);
}

//  lane 1   [──A 100–300──]    the host waits for it, then launches lane 0's work
TEST_CASE("what the host launched when it had waited came after that", "[dependencies]") {
    Told told;
    told.all.operation(collective(1, 10, 100, 300));
    told.tell(CallKind::record, 1, 11, 1).tell(CallKind::sync, kNoLane, 305, 1);
    told.ran_until(0, 320, 400);
    CHECK(told.all.operation(collective(2, 410, 420, 430)).after_enter_ns == 10);
    Told early;
    early.all.operation(collective(1, 10, 100, 300));
    early.tell(CallKind::record, 1, 11, 1).tell(CallKind::sync, kNoLane, 200, 1);  // in vain
    CHECK(early.all.operation(collective(2, 410, 420, 430)).after_enter_ns == INT64_MIN);
}

}  // namespace dependencies_test
