#include "shim/timing/stream_callers.h"

#include <catch2/catch.hpp>
#include <thread>

#include "plain_ring.h"

namespace stream_callers_test {

using namespace gpushim;
using namespace gpushim::shim;

namespace {

constexpr uint64_t kStream = 0x7000, kOther = 0x9000;

// Static memory: each case begins with nobody in a call.
class Callers {
  public:
    Callers() : ring_(64) { forget_stream_callers(); }

    ThreadState mine = {}, others = {};

  private:
    PlainRing ring_;
};

}  // namespace

TEST_CASE("a thread that is alone in calls on a stream may read what the driver keeps", "[stream_callers]") {
    Callers threads;
    enter_stream(threads.others, kOther);
    for (int call = 0; call < 3; ++call) {
        enter_stream(threads.mine, kStream);
        REQUIRE(begin_look(threads.mine, kStream));
        CHECK(may_read(threads.mine));
        end_look(threads.mine);
        leave_streams(threads.mine);
    }
    CHECK_FALSE(begin_look(threads.mine, kStream));
}

// mine     ├── launch ──────────── no look ──┤ ├── launch ── look ──┤
// other's  any of these ├────┤
TEST_CASE("nobody looks where another thread was in a call on the stream meanwhile", "[stream_callers]") {
    Callers threads;
    SECTION("in it already") {
        enter_stream(threads.others, kStream);
        enter_stream(threads.mine, kStream);
        leave_streams(threads.others);
    }
    SECTION("in it still") {
        enter_stream(threads.mine, kStream);
        enter_stream(threads.others, kStream);
        CHECK_FALSE(begin_look(threads.mine, kStream));
        leave_streams(threads.others);
    }
    SECTION("in one that may be about any stream") {
        enter_streams(threads.others);
        enter_stream(threads.mine, kStream);
        leave_streams(threads.others);
    }
    SECTION("in one that came and went") {
        enter_stream(threads.mine, kStream);
        enter_streams(threads.others);
        leave_streams(threads.others);
    }
    CHECK_FALSE(begin_look(threads.mine, kStream));
    leave_streams(threads.mine);
    enter_stream(threads.mine, kStream);
    CHECK_FALSE(begin_look(threads.mine, kOther));
    CHECK(begin_look(threads.mine, kStream));
}

// looks  ├── question ─────┤ does not read   ├ ends the look
// other            ├ enters ─ waits ─────────── goes on
TEST_CASE("who comes to a stream waits until the look is over, and nothing is read any more",
          "[stream_callers]") {
    Callers threads;
    enter_stream(threads.mine, kStream);
    REQUIRE(begin_look(threads.mine, kStream));
    std::thread other([&] {
        enter_stream(threads.others, kStream);
        leave_streams(threads.others);
    });
    while (may_read(threads.mine)) std::this_thread::yield();
    end_look(threads.mine);
    other.join();
    CHECK_FALSE(begin_look(threads.mine, kStream));
}

TEST_CASE("a look that never ends holds nobody for long", "[stream_callers]") {
    Callers threads;
    enter_stream(threads.mine, kStream);
    REQUIRE(begin_look(threads.mine, kStream));
    enter_streams(threads.others);
    CHECK_FALSE(may_read(threads.mine));
    leave_streams(threads.others);
    CHECK_FALSE(may_read(threads.mine));
}

TEST_CASE("what a forked process was in its parent's call is forgotten", "[stream_callers]") {
    Callers threads;
    enter_stream(threads.mine, kStream);
    forget_stream_callers();
    ++process_state->generation;
    CHECK_FALSE(begin_look(threads.mine, kStream));
    leave_streams(threads.mine);
    enter_stream(threads.mine, kStream);
    CHECK(begin_look(threads.mine, kStream));
}

}  // namespace stream_callers_test
