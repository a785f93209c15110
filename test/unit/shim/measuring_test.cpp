// Which threads are taken to measure, and for how long.
#include "shim/timing/measuring.h"

#include <catch2/catch.hpp>
#include <memory>

namespace measuring_test {

using namespace gpushim::shim;

namespace {

constexpr uint64_t kGap = 50'000, kSecond = 20'000 * kGap, kStart = 1'000 * kSecond;
constexpr uint64_t kStream = 0x5000, kOther = 0x6000, kEvent = 0x7000;

// A page on which a gap is 50 us.
class Page {
  public:
    Page() : before_(process_state), page_(std::make_unique<ProcessState>()) {
        page_->gap_ticks = kGap;
        process_state = page_.get();
    }
    ~Page() { process_state = before_; }

  private:
    ProcessState* before_;
    std::unique_ptr<ProcessState> page_;
};

}  // namespace

TEST_CASE("a record of an event with timing is a sign for a second", "[measuring]") {
    const Page page;
    ThreadState thread = {};
    CHECK_FALSE(is_measuring(thread, kStart));
    note_timed_record(thread, kEvent, kStream, kStart);
    CHECK(is_measuring(thread, kStart));
    CHECK(is_measuring(thread, kStart + kSecond - 1));
    CHECK_FALSE(is_measuring(thread, kStart + kSecond));
}

TEST_CASE("who only records is not suspected for long", "[measuring]") {
    const Page page;
    ThreadState thread = {};
    for (uint64_t at = 0; at < 5 * kSecond; at += kSecond / 10)
        note_timed_record(thread, kEvent, kStream, kStart + at);
    CHECK(is_measuring(thread, kStart + 5 * kSecond));
    note_timed_record(thread, kEvent, kStream, kStart + 6 * kSecond);
    CHECK_FALSE(is_measuring(thread, kStart + 6 * kSecond));
}

TEST_CASE("short answers renew it, a long one ends it", "[measuring]") {
    const Page page;
    ThreadState thread = {};
    note_timed_record(thread, kEvent, kStream, kStart);
    const uint64_t later = kStart + 100 * kSecond;
    note_timed_record(thread, kEvent, kStream, later);
    CHECK_FALSE(is_measuring(thread, later));
    note_elapsed(thread, 0.2f, later);
    CHECK(is_measuring(thread, later + kSecond - 1));
    note_timed_record(thread, kEvent, kStream, later + 3 * kSecond);
    CHECK(is_measuring(thread, later + 3 * kSecond));
    note_elapsed(thread, 250.0f, later + 3 * kSecond);
    CHECK_FALSE(is_measuring(thread, later + 3 * kSecond));
    note_timed_record(thread, kEvent, kStream, later + 3 * kSecond + 1);
    CHECK_FALSE(is_measuring(thread, later + 3 * kSecond + 1));
}

TEST_CASE("what is measured is a stream, whoever launches into it", "[measuring]") {
    const Page page;
    forget_measuring();
    ThreadState thread = {};
    CHECK_FALSE(is_measured(kStream, kStart));
    note_timed_record(thread, kEvent, kStream, kStart);
    CHECK(is_measured(kStream, kStart + kSecond - 1));
    CHECK_FALSE(is_measured(kStream, kStart + kSecond));
    CHECK_FALSE(is_measured(kOther, kStart));
    note_elapsed(thread, 0.2f, kStart + kSecond);
    CHECK(is_measured(kStream, kStart + 2 * kSecond - 1));
    note_timed_record(thread, kEvent, kOther, kStart + kSecond);
    CHECK(is_measured(kOther, kStart + kSecond));
    note_elapsed(thread, 250.0f, kStart + kSecond);
    CHECK_FALSE(is_measured(kOther, kStart + kSecond));
    forget_measuring();
    CHECK_FALSE(is_measured(kStream, kStart + kSecond));
}

TEST_CASE("an answer without a record says nothing of streams", "[measuring]") {
    const Page page;
    forget_measuring();
    ThreadState thread = {};
    note_elapsed(thread, 0.2f, kStart);
    CHECK(is_measuring(thread, kStart));
    CHECK_FALSE(is_measured(0, kStart));
}

TEST_CASE("events with timing are told from those without", "[measuring]") {
    CHECK_FALSE(has_timing(0));
    note_event_made(0x1230, true);
    note_event_made(0x4560, false);
    CHECK(has_timing(0x1230));
    CHECK_FALSE(has_timing(0x4560));
    note_event_made(0x1230, false);  // the handle again, of another event
    CHECK_FALSE(has_timing(0x1230));
}

TEST_CASE("what a stream waits for is no sign of measuring", "[measuring]") {
    const Page page;
    forget_measuring();
    ThreadState thread = {};
    const auto recorded = [&](uint64_t event, uint64_t stream, uint64_t at) {
        note_event_made(event, true);
        note_timed_record(thread, event, stream, at);
    };
    note_event_made(0x4560, true);
    recorded(0x1230, kStream, kStart);
    note_event_awaited(thread, 0x4560);  // never recorded
    note_event_awaited(thread, 0);
    CHECK(is_measuring(thread, kStart));
    CHECK(is_measured(kStream, kStart));
    note_event_awaited(thread, 0x1230);
    CHECK_FALSE(has_timing(0x1230));
    CHECK_FALSE(is_measuring(thread, kStart));
    CHECK_FALSE(is_measured(kStream, kStart));

    SECTION("each of several") {
        recorded(0x1230, kStream, kStart);
        recorded(0x4560, kOther, kStart);
        note_event_awaited(thread, 0x1230);
        CHECK_FALSE(is_measured(kStream, kStart));
        CHECK(is_measured(kOther, kStart));
        CHECK(is_measuring(thread, kStart));
        note_event_awaited(thread, 0x4560);
        CHECK_FALSE(is_measured(kOther, kStart));
        CHECK_FALSE(is_measuring(thread, kStart));
    }
    SECTION("within what is measured") {
        recorded(0x1230, kStream, kStart);
        recorded(0x4560, kStream, kStart + 1);
        note_event_awaited(thread, 0x4560);
        CHECK(is_measuring(thread, kStart + 1));
        CHECK(is_measured(kStream, kStart + 1));
    }
    SECTION("after an answer") {
        recorded(0x1230, kStream, kStart);
        note_elapsed(thread, 0.2f, kStart);
        recorded(0x4560, kStream, kStart + kSecond / 2);
        CHECK(is_measuring(thread, kStart + kSecond));
        note_event_awaited(thread, 0x4560);
        CHECK(is_measuring(thread, kStart + kSecond - 1));
        CHECK(is_measured(kStream, kStart + kSecond - 1));
        CHECK_FALSE(is_measuring(thread, kStart + kSecond));
        CHECK_FALSE(is_measured(kStream, kStart + kSecond));
    }
    SECTION("of another thread: that one's own signs stay") {
        ThreadState other = {};
        note_timed_record(other, kEvent, kOther, kStart);
        recorded(0x1230, kStream, kStart);
        note_event_awaited(other, 0x1230);
        CHECK_FALSE(is_measured(kStream, kStart));
        CHECK(is_measuring(other, kStart));
        CHECK(is_measured(kOther, kStart));
    }
    SECTION("after signs that have lapsed") {
        recorded(0x1230, kStream, kStart);
        const uint64_t later = kStart + 2 * kSecond;
        recorded(0x4560, kStream, later);
        note_event_awaited(thread, 0x4560);
        CHECK_FALSE(is_measuring(thread, later));
        CHECK_FALSE(is_measured(kStream, later));
    }
    SECTION("and suspicion has not begun with it") {
        const uint64_t later = kStart + 6 * kSecond;
        recorded(0x4560, kStream, later);
        CHECK(is_measuring(thread, later));
    }
    SECTION("beside a record of another thread that nobody asks for, it ends") {
        ThreadState other = {};
        note_event_made(0x9990, true);
        note_timed_record(other, 0x9990, kStream, kStart);
        uint64_t at = kStart;
        for (; at < kStart + 6 * kSecond; at += kSecond / 2) {
            recorded(0x1230, kStream, at);
            note_event_awaited(thread, 0x1230);
        }
        CHECK_FALSE(is_measured(kStream, at));
        CHECK_FALSE(is_measuring(thread, at));
    }
    SECTION("beside a record in each that nobody asks for, it ends") {
        uint64_t at = kStart;
        for (; at < kStart + 8 * kSecond; at += 2 * kSecond) {
            recorded(0x1230, kStream, at);
            note_event_awaited(thread, 0x1230);
            recorded(0x4560, kStream, at);
        }
        CHECK_FALSE(is_measuring(thread, at - 2 * kSecond));
        CHECK_FALSE(is_measured(kStream, at - 2 * kSecond));
    }
    SECTION("of another thread: what an answer says of its stream stays") {
        ThreadState other = {};
        recorded(0x1230, kStream, kStart);
        note_elapsed(thread, 0.2f, kStart);
        note_event_made(0x4560, true);
        note_timed_record(other, 0x4560, kStream, kStart + 1);
        note_event_awaited(other, 0x4560);
        CHECK(is_measured(kStream, kStart + kSecond - 1));
        CHECK_FALSE(is_measured(kStream, kStart + kSecond));
    }
    SECTION("another event at its place is one again") {
        note_event_made(0x1230, true);
        CHECK(has_timing(0x1230));
        note_event_awaited(thread, 0x1230);  // never recorded
        CHECK_FALSE(has_timing(0x1230));
    }
}

}  // namespace measuring_test
