// The alarm on rings in which the test records, at times that the test tells it.
#include "shim/alarm/hang_alarm.h"

#include "rings.h"
#include "shim/alarm/activity.h"
#include "shim/base/config.h"
#include "shim/schema/rows.h"

namespace hang_alarm_test {

using namespace rings;

namespace {

constexpr int64_t kSecond = 1'000'000'000;

class Alarm {
  public:
    Alarm() {
        config = default_config();
        config.log = LogLevel::off;
        config.hang_after_s = 30;
        identity_.pid = getpid();
        identity_.rank = 3;
        alarm_speaks_for(identity_, "/traces/rank3.db");
        alarm_ = make_hang_alarm({});
        pass(1);
    }
    void pass(int seconds) {
        for (int i = 0; i < seconds; ++i) {
            now_ns_ += kSecond;
            alarm_->look({now_ns_, now_ns_, false});
        }
    }
    size_t said() const { return alarm_->rows()[0]->count(); }
    row::hang hang(size_t index) const {
        return static_cast<const RowsOf<row::hang>&>(*alarm_->rows()[0]).at(index);
    }
    const RowsOf<row::hang_thread>& threads() const {
        return static_cast<const RowsOf<row::hang_thread>&>(*alarm_->rows()[1]);
    }

  private:
    Recording recording_;
    TraceIdentity identity_ = {};
    std::unique_ptr<Observer> alarm_;
    int64_t now_ns_ = 1000 * kSecond;
};

void poll(Slot* slot) { __atomic_store_n(&slot->exit, ticks(), __ATOMIC_RELEASE); }

}  // namespace

TEST_CASE("a call that waits and does not return is said once, with its thread", "[hang]") {
    Alarm alarm;
    record();
    Slot* const wait = open_event(EventKind::sync);
    alarm.pass(30);  // the first sees that it was entered
    CHECK(alarm.said() == 0);
    alarm.pass(1);
    REQUIRE(alarm.said() == 1);
    CHECK(alarm.hang(0).for_ns == 30 * kSecond);
    CHECK(alarm.hang(0).over == 0);
    CHECK(alarm.hang(0).usual_ns == kNull);
    REQUIRE(alarm.threads().count() == 1);
    const row::hang_thread thread = alarm.threads().at(0);
    CHECK(thread.tid == gettid());
    CHECK(*alarm.threads().text_of(column::hang_thread::state, thread.state) == "R");
    CHECK(thread.call != kNull);
    CHECK(thread.wchan == kNull);
    alarm.pass(1000);
    CHECK(alarm.said() == 1);
    close_event(wait);
    alarm.pass(1);
    REQUIRE(alarm.said() == 2);
    CHECK(alarm.hang(1).over == 1);
    CHECK(alarm.hang(1).for_ns == 1030 * kSecond);
}

TEST_CASE("operations of any thread are progress, questions are none", "[hang]") {
    Alarm alarm;
    open_event(EventKind::sync);
    for (int i = 0; i < 100; ++i) {
        alarm.pass(1);
        std::thread([] { record(0, EventKind::launch); }).join();
    }
    CHECK(alarm.said() == 0);
    alarm.pass(2);
    for (int i = 0; i < 40; ++i) {
        std::thread([] { record(0, EventKind::other); }).join();
        alarm.pass(1);
    }
    CHECK(alarm.said() == 1);
}

TEST_CASE("no call is open, or one that is no wait: no hang", "[hang]") {
    Alarm alarm;
    record();
    alarm.pass(1000);
    CHECK(alarm.said() == 0);
    open_event(EventKind::named);  // a module is compiled
    alarm.pass(1000);
    CHECK(alarm.said() == 0);
}

TEST_CASE("polls are a wait while somebody asks again", "[hang]") {
    Alarm alarm;
    Slot* const slot = open_event(EventKind::query);
    for (int i = 0; i < 29; ++i) {
        poll(slot);
        alarm.pass(1);
    }
    CHECK(alarm.said() == 0);
    poll(slot);
    alarm.pass(2);
    CHECK(alarm.said() == 1);
    Alarm once;
    poll(open_event(EventKind::query));
    once.pass(1000);
    CHECK(once.said() == 0);
}

TEST_CASE("a thread that ended inside of a call does not hang", "[hang]") {
    Alarm alarm;
    std::thread([] { open_event(EventKind::sync); }).join();
    alarm.pass(1000);
    CHECK(alarm.said() == 0);
}

TEST_CASE("outside the chosen part of a run nothing is said", "[hang]") {
    Alarm alarm;
    open_event(EventKind::sync);
    process_state->doing = kResting;
    alarm.pass(1000);
    CHECK(alarm.said() == 0);
}

TEST_CASE("GPUSHIM_HANG_AFTER=0: no alarm", "[hang]") {
    config = default_config();
    config.hang_after_s = 0;
    CHECK(make_hang_alarm({}) == nullptr);
    config = default_config();
}

}  // namespace hang_alarm_test
