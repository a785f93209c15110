// Calls as what they were to the thread that made them.
#include "analysis/run/busy/host_calls.h"

#include "busy_scene.h"

#include <catch2/catch.hpp>
#include <tuple>
#include <vector>

namespace host_calls_test {

using namespace busy_scene;

namespace {

Call copy_of(OperationClass type, int64_t sides, bool blocking = false, bool completes = false) {
    Call call = typed(launch(0, 10, 20), type);
    call.detail = sides;
    call.blocking = blocking;
    call.completes = completes;
    return call;
}

}  // namespace

TEST_CASE("what a copy is to its thread depends on its memory and form", "[host_calls]") {
    CHECK(what_of(copy_of(OperationClass::h2d, 1 + 8 * 4)) == What::staging);
    CHECK(what_of(copy_of(OperationClass::h2d, 2 + 8 * 4)) == What::launch);
    CHECK(what_of(copy_of(OperationClass::h2d, 2 + 8 * 4, true)) == What::staging);
    CHECK(what_of(copy_of(OperationClass::h2d, kNotRecorded)) == What::launch);
    CHECK(what_of(copy_of(OperationClass::d2h, 4 + 8 * 2)) == What::launch);
    CHECK(what_of(copy_of(OperationClass::d2h, 4 + 8 * 1, false, true)) == What::sync);
    CHECK(what_of(copy_of(OperationClass::d2h, 4 + 8 * 2, true)) == What::sync);
    CHECK(what_of(copy_of(OperationClass::d2d, 4 + 8 * 4, true)) == What::launch);
}

TEST_CASE("a long copy of a few bytes is a wait", "[host_calls]") {
    const auto of = [](int64_t bytes, int64_t took_ns, bool blocking) {
        Call call = copy_of(OperationClass::h2d, 2 + 8 * 4, blocking);
        call.bytes = bytes;
        call.exit_ns = call.enter_ns + took_ns;
        return what_of(call);
    };
    CHECK(of(256, 463'000'000, true) == What::sync);
    CHECK(of(256, 99'999, true) == What::staging);
    CHECK(of(65'537, 463'000'000, true) == What::staging);
    CHECK(of(kNotRecorded, 463'000'000, true) == What::staging);
    CHECK(of(256, 463'000'000, false) == What::launch);
}

TEST_CASE("what other calls are to their thread", "[host_calls]") {
    const auto of = [](CallKind kind) { return what_of(other(kind, 0, kNoTarget, 10, 20)); };
    CHECK(of(CallKind::operation) == What::launch);
    CHECK(of(CallKind::sync) == What::sync);
    CHECK(of(CallKind::record) == What::launch);
    CHECK(of(CallKind::wait) == What::launch);
    CHECK(of(CallKind::memory) == What::alloc_or_load);
    CHECK(of(CallKind::load) == What::alloc_or_load);
    CHECK(of(CallKind::make_graph) == What::making_graph);
    CHECK(of(CallKind::begin_capture) == What::making_graph);
    CHECK(of(CallKind::end_capture) == What::making_graph);
    CHECK(of(CallKind::collective) == What::comm);
    CHECK(of(CallKind::other) == What::other_call);
    CHECK_FALSE(of(CallKind::host_gap));
    CHECK_FALSE(of(CallKind::gone));
}

TEST_CASE("a call that takes as long as no such call does is a slow one", "[host_calls]") {
    CHECK(what_of(other(CallKind::other, 0, kNoTarget, 10, 2'000'009)) == What::other_call);
    CHECK(what_of(other(CallKind::other, 0, kNoTarget, 10, 2'000'010)) == What::slow_call);
    CHECK(what_of(other(CallKind::host_call, 0, kNoTarget, 10, 2'000'010)) == What::other_call);
    CHECK(what_of(other(CallKind::sync, 0, kNoTarget, 10, 2'000'010)) == What::sync);
}

// calls   [begin] [alloc]  record         [end]
// gap                            bbbrrr
TEST_CASE("what a thread does from the begin of a capture to its end makes a graph", "[host_calls]") {
    const TraceFacts facts = facts_of(2, 1);
    HostCalls host(facts);
    const auto take = [&](CallKind kind, int64_t from, int64_t until, int32_t lane = 0) {
        host.take(other(kind, lane, kNoTarget, from, until));
    };
    take(CallKind::begin_capture, 10, 12);
    take(CallKind::memory, 14, 20);
    take(CallKind::record, 22, 24);
    Call gap = other(CallKind::host_gap, kNoLane, kNoTarget, 24, 50);
    gap.detail = 10;
    host.take(gap);
    take(CallKind::begin_capture, 51, 52, 1);
    take(CallKind::end_capture, 55, 60);
    take(CallKind::record, 70, 80);
    take(CallKind::end_capture, 90, 95);  // of one that began before the recording
    const auto pieces = host.lines().begin()->second.pieces(0, 100);
    std::vector<std::tuple<int64_t, int64_t, What>> told;
    for (const HostPiece& piece : pieces) {
        const bool goes_on = !told.empty() && std::get<2>(told.back()) == piece.what;
        if (goes_on) std::get<1>(told.back()) = piece.until_ns;
        if (!goes_on) told.emplace_back(piece.from_ns, piece.until_ns, piece.what);
    }
    CHECK(told == std::vector<std::tuple<int64_t, int64_t, What>>{{0, 10, What::unknown},
                                                                  {10, 14, What::making_graph},
                                                                  {14, 20, What::alloc_or_load},
                                                                  {20, 60, What::making_graph},
                                                                  {60, 70, What::unknown},
                                                                  {70, 80, What::launch},
                                                                  {80, 90, What::unknown},
                                                                  {90, 95, What::making_graph},
                                                                  {95, 100, What::unknown}});
}

TEST_CASE("each thread has a line, launches have their GPU, gaps what they were", "[host_calls]") {
    const TraceFacts facts = facts_of(2, 1);
    HostCalls host(facts);
    host.take(launch(1, 10, 20, 1));
    host.take(launch(0, 12, 22, 2));
    Call gap = other(CallKind::host_gap, kNoLane, kNoTarget, 20, 50);
    gap.detail = 10;
    gap.runqueue_ns = 5;
    gap.blocked_on = 1;
    host.take(gap);
    gap.thread_id = 2;
    gap.detail = kNotRecorded;
    host.take(gap);
    const auto first = host.lines().at(1).pieces(10, 50);
    REQUIRE(first.size() == 4);
    CHECK(first[0].gpu == 1);
    CHECK(first[1].what == What::blocked);
    CHECK(first[1].blocked_on == 1);
    CHECK(first[2].until_ns - first[2].from_ns == 5);  // ready
    CHECK(first[3].until_ns - first[3].from_ns == 10);
    const auto second = host.lines().at(2).pieces(12, 50);
    REQUIRE(second.size() == 2);
    CHECK(second[0].gpu == 0);
    CHECK(second[1].what == What::unknown);
}

TEST_CASE("a wait is for a GPU: its stream's, its context's, its event's", "[host_calls]") {
    const TraceFacts facts = facts_of(2, 1);
    HostCalls host(facts);
    constexpr int64_t kEvent = 500, kOther = 501;
    host.take(other(CallKind::sync, 1, kNoTarget, 10, 20));
    host.take(other(CallKind::sync, kNoLane, kContextHandle + 1, 30, 40));
    host.take(other(CallKind::sync, kNoLane, kEvent, 50, 60));  // recorded before all that is known
    host.take(other(CallKind::record, 1, kEvent, 70, 80));
    host.take(other(CallKind::sync, kNoLane, kEvent, 90, 100));
    host.take(other(CallKind::record, 0, kEvent, 110, 120));
    host.take(other(CallKind::sync, kNoLane, kEvent, 130, 140));
    host.take(other(CallKind::sync, kNoLane, kOther, 150, 160));
    std::vector<int32_t> gpus;
    for (const HostPiece& piece : host.lines().at(1).pieces(0, 200))
        if (piece.what == What::sync) gpus.push_back(piece.gpu);
    CHECK(gpus == std::vector<int32_t>{1, 1, kNoGpu, 1, 0, kNoGpu});
}

TEST_CASE("what a thread was inside of is on its line", "[host_calls]") {
    const TraceFacts facts = facts_of(1, 1);
    HostCalls host(facts);
    for (int64_t inside = 1; inside <= 7; ++inside) {
        Call span = other(CallKind::inside, kNoLane, kNoTarget, inside * 10, inside * 10 + 5);
        span.detail = inside;  // 5 is not known
        CHECK_FALSE(what_of(span));
        host.take(span);
    }
    const What is[] = {What::loading, What::optimizing, What::dispatching,  What::python,
                       What::unknown, What::told_wait,  What::alloc_or_load};
    for (int64_t at = 0; at < 7; ++at)
        CHECK(host.lines().at(1).pieces(at * 10 + 10, at * 10 + 15)[0].what == is[at]);
}

TEST_CASE("lines are bounded, even if nothing may be forgotten", "[host_calls]") {
    const TraceFacts facts = facts_of(1, 1);
    HostCalls host(facts);
    int64_t t = 0;
    for (int i = 0; i < (1 << 20) + 10; ++i, t += 1000) host.take(launch(0, t, t + 10));
    host.forget_before(0, t);
    CHECK(host.lines().at(1).size() <= 1 << 20);
    CHECK(host.lines().at(1).size() > 1 << 18);
    host.forget_before(t - 30'000, t);
    CHECK(host.lines().at(1).size() == 1030);  // 1 ms more than it was told
}

}  // namespace host_calls_test
