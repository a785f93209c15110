// A thread whose context no call has told asks for it, and says in its ring which one it is.
#include "shim/timing/current_context.h"

#include <catch2/catch.hpp>

#include "driver/core.h"
#include "plain_ring.h"
#include "shim/calls/api.h"
#include "shim/ring/open_slot.h"
#include "shim/ring/recorder.h"
#include "shim/timing/contexts.h"

namespace current_context_test {

using namespace gpushim;
using namespace gpushim::shim;

namespace {

class Recording : public PlainRing {
  public:
    using PlainRing::PlainRing;
    uint64_t dropped() const { return header().dropped[static_cast<size_t>(Drop::full)]; }
    void fill() {
        while (!is_full(thread_state, 1)) complete_slot(open_slot(thread_state, 0, EventKind::copy, 0));
    }
    void empty() { header().tail = header().head.load(); }
};

}  // namespace

TEST_CASE("a context that is asked for is told with its device", "[current_context][alone]") {
    CUcontext context = make_context();
    Recording recording(16);
    ask_for_context(thread_state);
    CHECK(thread_state.context == context_number(reinterpret_cast<uint64_t>(context)));
    REQUIRE(recording.count() == 1);
    const Slot& slot = recording.slot(0);
    CHECK(slot.mark == complete_mark(0));
    CHECK(slot.api == kNoApi);
    CHECK(kind_of(slot) == EventKind::context);
    CHECK(slot.context == thread_state.context);
    const auto words = words_of<event::context>(slot);
    CHECK(words.handle == reinterpret_cast<uint64_t>(context));
    CHECK(words.device_plus_1 == 1);
}

TEST_CASE("no context is nothing to tell", "[current_context][alone]") {
    Recording recording(16);
    ask_for_context(thread_state);
    CHECK(thread_state.context == 0);
    CHECK(recording.count() == 0);
}

// What is not told is not used either, and no event of the program's is missing because of it.
TEST_CASE("a full ring is asked again", "[current_context][alone]") {
    make_context();
    Recording recording(16);
    recording.fill();
    ask_for_context(thread_state);
    CHECK(thread_state.context == 0);
    CHECK(recording.count() == 16);
    CHECK(recording.dropped() == 0);
    recording.empty();
    ask_for_context(thread_state);
    CHECK(thread_state.context != 0);
    CHECK(recording.count() == 17);
}

TEST_CASE("what we say of a context ends no call that is under way", "[current_context][alone]") {
    make_context();
    Recording recording(16);
    ask_for_context(thread_state);
    CHECK_FALSE(shows_end_of(0, recording.slot(0)));
    Slot by_program = {};
    by_program.api = api_cuCtxSetCurrent;
    by_program.kind = static_cast<uint8_t>(EventKind::context);
    CHECK(shows_end_of(0, by_program));
}

}  // namespace current_context_test
