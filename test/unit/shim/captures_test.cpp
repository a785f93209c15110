#include "shim/timing/captures.h"

#include <catch2/catch.hpp>

#include "shim/timing/known_nodes.h"
#include "shim/timing/stream_uses.h"

namespace captures_test {

using namespace gpushim::shim;

namespace {

constexpr uint64_t kStream = 0x7000, kOther = 0x8000, kThird = 0x9000;

// Recording, as far as captures are concerned.
class Counted {
  public:
    Counted() : before_(process_state) {
        process_state = &counted_;
        forget_captures();
        forget_streams();
    }
    ~Counted() {
        forget_captures();
        process_state = before_;
    }
    Counted(const Counted&) = delete;
    Counted& operator=(const Counted&) = delete;

    static void begin(uint64_t stream, uint32_t context, bool succeeded = true) {
        if (stream > 2) stream_is_born(stream, context, true);
        capture_is_beginning();
        capture_has_begun(thread_state, stream, true, succeeded);
    }
    static void end(uint64_t stream) { capture_has_ended(thread_state, stream, true); }
    int count() const { return counted_.captures.load(); }

  private:
    ProcessState counted_ = {};
    ProcessState* before_;
};

}  // namespace

TEST_CASE("a capture is under way from before its begin until its end", "[captures]") {
    const Counted captures;
    capture_is_beginning();
    CHECK(captures.count() == 1);
    capture_has_begun(thread_state, kStream, false, false);
    CHECK(captures.count() == 0);
    Counted::begin(kStream, 1);
    Counted::begin(2, 1);  // the thread's own stream
    CHECK(captures.count() == 2);
    Counted::end(kOther);  // began unseen
    CHECK(captures.count() == 2);
    Counted::end(kStream);
    Counted::end(kStream);
    CHECK(captures.count() == 1);
    Counted::end(2);
    CHECK(captures.count() == 0);
}

TEST_CASE("a capture goes with its stream, where that goes", "[captures]") {
    const Counted captures;
    Counted::begin(kStream, 1);
    capture_may_go(kStream);
    capture_has_gone(kStream, false);
    CHECK(captures.count() == 1);
    capture_may_go(kOther);
    capture_has_gone(kOther, true);
    CHECK(captures.count() == 1);
    capture_may_go(kStream);
    capture_has_gone(kStream, true);
    CHECK(captures.count() == 0);
}

TEST_CASE("captures go with the context of their streams", "[captures]") {
    const Counted captures;
    Counted::begin(kStream, 1);
    Counted::begin(kOther, 2);
    Counted::begin(kThird, 2);
    captures_of_context_have_gone(2);
    CHECK(captures.count() == 1);
    int64_t began_ns = 0;
    uint32_t context = kNoContext;
    REQUIRE(oldest_capture(began_ns, context));
    CHECK(context == 1);
    captures_of_context_have_gone(1);
    CHECK(captures.count() == 0);
    CHECK_FALSE(oldest_capture(began_ns, context));
}

TEST_CASE("the driver is asked for streams that any thread can name, of one context", "[captures]") {
    const Counted captures;
    Counted::begin(kStream, 1);
    Counted::begin(kOther, 1);
    Counted::begin(kThird, 2);
    Counted::begin(2, 1);
    visit_captures(1, [](uint64_t) { return false; });
    CHECK(captures.count() == 4);
    visit_captures(1, [](uint64_t stream) { return stream == kOther; });
    CHECK(captures.count() == 3);
    visit_captures(1, [](uint64_t) { return true; });
    CHECK(captures.count() == 2);
    // Its end, which is on its way here, is no other one's.
    Counted::end(kStream);
    CHECK(captures.count() == 2);
}

TEST_CASE("captures that have no place are counted, and nobody asks for any", "[captures]") {
    const Counted captures;
    constexpr int kMany = 80;
    for (int i = 0; i < kMany; ++i) Counted::begin(kThird + 16 * static_cast<uint64_t>(i), 1);
    CHECK(captures.count() == kMany);
    visit_captures(1, [](uint64_t) { return true; });
    CHECK(captures.count() == kMany);
    for (int i = 0; i < kMany; ++i) Counted::end(kThird + 16 * static_cast<uint64_t>(i));
    CHECK(captures.count() == 0);
}

TEST_CASE("who ends a capture while the driver is asked for it waits for nobody", "[captures]") {
    const Counted captures;
    Counted::begin(kStream, 1);
    visit_captures(1, [](uint64_t stream) {
        Counted::end(stream);
        return true;  // what was asked about is another's by now
    });
    CHECK(captures.count() == 0);
    Counted::begin(kStream, 1);
    visit_captures(1, [](uint64_t stream) {
        Counted::end(stream);
        Counted::begin(stream, 1);
        return true;
    });
    CHECK(captures.count() == 1);
}

TEST_CASE("nobody asks for a stream that is being destroyed", "[captures]") {
    const Counted captures;
    Counted::begin(kStream, 1);
    capture_may_go(kStream);
    visit_captures(1, [](uint64_t) { return true; });
    CHECK(captures.count() == 1);
    capture_has_gone(kStream, false);
    visit_captures(1, [](uint64_t) { return true; });
    CHECK(captures.count() == 0);
}

TEST_CASE("nobody asks for a capture that is being ended", "[captures]") {
    const Counted captures;
    Counted::begin(kStream, 1);
    capture_is_ending(thread_state, kStream, true);
    visit_captures(1, [](uint64_t) { return true; });
    CHECK(captures.count() == 1);
    capture_goes_on(thread_state, kStream, true);
    capture_is_ending(thread_state, kStream, true);
    capture_has_ended(thread_state, kStream, true);
    CHECK(captures.count() == 0);
    Counted::begin(kStream, 1);
    capture_is_ending(thread_state, kStream, true);
    capture_goes_on(thread_state, kStream, true);
    visit_captures(1, [](uint64_t) { return true; });
    CHECK(captures.count() == 0);
}

// The driver ends the graph of a capture that comes to nothing, and another one gets its handle.
TEST_CASE("of which graph a lost capture was, nobody knows", "[captures]") {
    const Counted captures;
    const auto is_known = [] {
        uint64_t told = 0, value = 0;
        return KnownNodes(0x10000).find(0x5000, told, value);
    };
    const auto begin = [&is_known] {
        Counted::begin(kStream, 1);
        graph_is_made(0x10000);
        node_is_made(0x10000, 0x5000, {gpushim::GraphNode::memset, 0});
        CHECK(is_known());
    };
    begin();
    Counted::end(kStream);
    CHECK(is_known());
    begin();
    SECTION("its stream goes") {
        capture_may_go(kStream);
        capture_has_gone(kStream, true);
    }
    SECTION("its context goes") { captures_of_context_have_gone(1); }
    SECTION("the driver says that it is over") {
        visit_captures(1, [](uint64_t) { return true; });
    }
    SECTION("another begins there") { Counted::begin(kStream, 1); }
    CHECK_FALSE(is_known());
}

TEST_CASE("a handle that another stream has got by now keeps that one's capture", "[captures]") {
    const Counted captures;
    Counted::begin(kStream, 1);
    capture_may_go(kStream);
    Counted::begin(kStream, 1);  // another thread's, before this one is back from the destruction
    capture_has_gone(kStream, true);
    CHECK(captures.count() == 1);
}

}  // namespace captures_test
