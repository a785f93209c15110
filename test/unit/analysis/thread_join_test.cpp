// Which thread of spans a thread of calls is, and what else it was in.
#include "analysis/importer/thread_join.h"

#include <catch2/catch.hpp>

namespace thread_join_test {

using namespace gpushim::analysis;

namespace {

constexpr auto kFramework = HostInside::framework, kPython = HostInside::python;
using Joined = std::map<int64_t, int64_t>;

// Of thread 7: five calls of 2, at 100, 200, …
ThreadJoin five_calls() {
    ThreadJoin threads;
    for (int64_t i = 1; i <= 5; ++i) threads.called(7, 100 * i, 100 * i + 2);
    return threads;
}

void around(ThreadJoin& threads, int64_t thread, int64_t before_ns, int64_t calls = 5) {
    for (int64_t i = 1; i <= calls; ++i)
        threads.inside({thread, 100 * i - before_ns, 100 * i + before_ns, kFramework});
}

}  // namespace

TEST_CASE("a thread of calls is the one whose spans hold them most closely", "[thread_join]") {
    ThreadJoin threads = five_calls();
    threads.inside({1, 0, 1000, kPython});  // waits for it
    around(threads, 2, 20);
    around(threads, 3, 5, 4);  // not one of the calls
    CHECK(threads.joined() == Joined{{2, 7}});
    CHECK((threads.calls().start_ns == 100 && threads.calls().end_ns == 502));
}

TEST_CASE("of a thread it is not guessed which it is", "[thread_join]") {
    ThreadJoin alike = five_calls();
    around(alike, 2, 20);
    around(alike, 3, 30);
    CHECK(alike.joined().empty());
    ThreadJoin with_own = five_calls();
    around(with_own, 2, 20);
    with_own.inside({7, 90, 600, kFramework});
    CHECK(with_own.joined().empty());
    ThreadJoin few;
    for (int64_t i = 1; i <= 3; ++i) few.called(7, 100 * i, 100 * i + 2);
    around(few, 2, 20, 3);
    CHECK(few.joined().empty());
    ThreadJoin two = five_calls();
    for (int64_t i = 1; i <= 5; ++i) two.called(8, 100 * i + 3, 100 * i + 4);
    around(two, 2, 20);  // of both
    CHECK(two.joined().empty());
    CHECK(five_calls().joined().empty());
}

TEST_CASE("calls of which only some are looked at are looked at throughout", "[thread_join]") {
    ThreadJoin threads;
    for (int64_t i = 1; i <= 1000; ++i) threads.called(7, 100 * i, 100 * i + 2);
    around(threads, 2, 20, 500);  // none of the later ones
    threads.inside({3, 0, 200'000, kPython});
    CHECK(threads.joined() == Joined{{3, 7}});
}

TEST_CASE("a thread that waits for calls does not make them", "[thread_join]") {
    ThreadJoin threads = five_calls();
    threads.inside({1, 0, 1000, HostInside::waits});
    CHECK(threads.joined().empty());
}

TEST_CASE("threads in nothing are in no more than there is room for", "[thread_join]") {
    constexpr int64_t kSpans = 1000, kThreads = 1200;
    int64_t given = 0;
    HostFill fill({0, 10 * kSpans}, [&](const HostSpan&) { ++given; });
    for (int64_t i = 0; i < kSpans; ++i) fill.other({1, 10 * i, 10 * i + 5, kPython});
    for (int64_t thread = 2; thread < 2 + kThreads; ++thread) fill.alone(thread);
    CHECK(given == 1'000'000);
}

//  own       |ff|    |ff|
//  other  |pppppppp||fff|  |ppp|
//  calls    c              c
TEST_CASE("a thread that is in nothing is in what another is", "[thread_join]") {
    std::vector<HostSpan> given;
    HostFill fill({20, 90}, [&](const HostSpan& span) { given.push_back(span); });
    fill.other({1, 0, 50, kPython});
    fill.other({1, 50, 65, kFramework});
    fill.other({1, 80, 100, kPython});
    fill.own({7, 30, 40, kFramework});
    fill.own({7, 55, 60, kFramework});
    fill.end_thread();
    CHECK(given == std::vector<HostSpan>{{7, 20, 30, kPython},
                                         {7, 30, 40, kFramework},
                                         {7, 40, 50, kPython},
                                         {7, 50, 55, kFramework},
                                         {7, 55, 60, kFramework},
                                         {7, 60, 65, kFramework},
                                         {7, 80, 90, kPython}});
    given.clear();
    fill.alone(8);
    CHECK(given ==
          std::vector<HostSpan>{{8, 20, 50, kPython}, {8, 50, 65, kFramework}, {8, 80, 90, kPython}});
}

}  // namespace thread_join_test
