#include "engine/engine.h"

#include <atomic>
#include <thread>
#include <vector>

#include "box.h"
#include "engine/box_state.h"
#include "streams.h"

namespace engine_test {

using namespace gpusim;

namespace {

constexpr Ns kUs = 1000;

// From another thread, as other ranks' news come.
void tell(Told& behaviour, Outcome outcome) {
    const auto held = engine::lock();
    behaviour.answer = outcome;
    gpusim::box::ring_bell();
}

}  // namespace

// stream A  |---10---|--5--|
// stream B  |--7--|           beside it
TEST_CASE("operations of a stream run one after the other, streams beside each other", "[engine]") {
    ::box::knobs("GPUSIM_CLOCK=stepped");
    Stream a, b;
    const Ns now = clock::now();
    CHECK(a.add("kernel", 10 * kUs).end_ns == now + 10 * kUs);
    CHECK(a.add("kernel", 5 * kUs).end_ns == now + 15 * kUs);
    CHECK(b.add("kernel", 7 * kUs).end_ns == now + 7 * kUs);
}

// stream A  |---10---|
// stream B  |--4--|   |--3--|   waits for A
TEST_CASE("an operation comes after all it waits for, and not before its time", "[engine]") {
    ::box::knobs("GPUSIM_CLOCK=stepped");
    Stream a, b;
    const Ns now = clock::now();
    const Point end_of_a = a.add("kernel", 10 * kUs);
    b.add("kernel", 4 * kUs);
    Operation op;
    op.op = "kernel";
    op.duration_ns = 3 * kUs;
    CHECK(b.add(op, &end_of_a).end_ns == now + 13 * kUs);
    op.earliest_ns = now + 50 * kUs;
    CHECK(b.add(op).end_ns == now + 53 * kUs);
}

TEST_CASE("waiting for a point moves stepped time to it, asking does not", "[engine]") {
    ::box::knobs("GPUSIM_CLOCK=stepped");
    Stream a;
    const Ns now = clock::now();
    a.add("kernel", 10 * kUs);
    CHECK_FALSE(a.reached());
    CHECK(clock::now() == now);
    clock::work_until(now + 10 * kUs - 1);
    CHECK_FALSE(a.reached());
    clock::work_until(now + 10 * kUs);
    CHECK(a.reached());
    a.add("kernel", 10 * kUs);
    a.wait();
    CHECK(clock::now() == now + 20 * kUs);
    a.wait();
    CHECK(clock::now() == now + 20 * kUs);
}

TEST_CASE("waiting in real time ends after the operation, with its bytes in place", "[engine]") {
    Stream a;
    std::atomic<bool> moved{false};
    const Point end = a.add("h2d", 3'000 * kUs, [&] { moved = true; });
    const bool early = a.reached();
    if (clock::now() < end.end_ns) CHECK_FALSE(early);
    a.wait();
    CHECK(clock::now() >= end.end_ns);
    CHECK(moved);
    CHECK(a.reached());
}

TEST_CASE("waiting ends when the bytes are in place, if that is later than the operation", "[engine]") {
    Stream a;
    std::atomic<bool> moved{false};
    Operation op;
    op.op = "h2d";
    op.bytes = 1 << 20;
    op.move = [&] {
        clock::sleep_until(clock::now() + 30'000 * kUs);
        moved = true;
    };
    a.add(op);
    a.wait();
    CHECK(moved);
}

TEST_CASE("an operation with an open question holds up its stream, no other", "[engine]") {
    ::box::knobs("GPUSIM_CLOCK=stepped");
    Stream a, b;
    const Ns now = clock::now();
    const auto open = std::make_shared<Told>();
    bool moved = false;
    a.add("kernel", 10 * kUs);
    a.add(told_operation(open));
    a.add("kernel", 5 * kUs, [&] { moved = true; });
    CHECK(b.add("kernel", 1 * kUs).end_ns == now + 1 * kUs);
    CHECK(open->arrivals == 1);
    CHECK(open->ready == now + 10 * kUs);
    CHECK_FALSE(a.reached());
    CHECK_FALSE(moved);

    tell(*open, {now + 40 * kUs, now + 60 * kUs, 0});
    a.wait();
    CHECK(clock::now() == now + 65 * kUs);
    CHECK(open->arrivals == 1);
    CHECK(open->moves == 1);
    CHECK(moved);
}

// stream A  |..open..|-5-|        answered last
// stream B  |..open..|-5-|        answered first
TEST_CASE("open questions are answered in any order", "[engine]") {
    ::box::knobs("GPUSIM_CLOCK=stepped");
    Stream a, b;
    const Ns now = clock::now();
    const auto first = std::make_shared<Told>(), second = std::make_shared<Told>();
    a.add(told_operation(first));
    a.add("kernel", 5 * kUs);
    b.add(told_operation(second));
    b.add("kernel", 5 * kUs);
    tell(*second, {now, now + 20 * kUs, 0});
    b.wait();
    CHECK(clock::now() == now + 25 * kUs);
    CHECK(first->moves == 0);
    tell(*first, {now, now + 100 * kUs, 0});
    a.wait();
    CHECK(clock::now() == now + 105 * kUs);
}

TEST_CASE("an open question is put when all that comes before it is known", "[engine]") {
    ::box::knobs("GPUSIM_CLOCK=stepped");
    Stream a;
    const Ns now = clock::now();
    const auto first = std::make_shared<Told>(), second = std::make_shared<Told>();
    a.add(told_operation(first));
    a.add(told_operation(second));
    CHECK(second->arrivals == 0);
    tell(*first, {now, now + 30 * kUs, 0});
    {
        const auto held = engine::lock();
        engine::pump();
    }
    CHECK(second->arrivals == 1);
    CHECK(second->ready == now + 30 * kUs);
    tell(*second, {now + 30 * kUs, now + 31 * kUs, 0});
    a.wait();
    CHECK(clock::now() == now + 31 * kUs);
}

TEST_CASE("who waits for an open operation is woken by the answer", "[engine]") {
    Stream a;
    const auto open = std::make_shared<Told>();
    a.add(told_operation(open));
    std::thread other([&] {
        const Ns now = clock::now();
        tell(*open, {now, now + 100 * kUs, 0});
    });
    a.wait();
    other.join();
    CHECK(open->moves == 1);
}

TEST_CASE("nobody needs to ask for an operation's bytes to move", "[engine]") {
    Stream a;
    const auto open = std::make_shared<Told>();
    std::atomic<bool> moved{false};
    a.add(told_operation(open));
    a.add("memset", 1, [&] { moved = true; });
    const Ns now = clock::now();
    tell(*open, {now, now, 0});
    while (!moved) std::this_thread::yield();
    CHECK(moved);
}

TEST_CASE("bytes move in the order of the operations", "[engine]") {
    Stream a;
    std::vector<int> order;
    for (int i = 0; i < 50; ++i) {
        Operation op;
        op.op = "h2d";
        op.bytes = i % 2 == 0 ? 1 << 20 : 1;  // beside the program's thread, at once
        op.move = [&order, i] { order.push_back(i); };
        a.add(op);
    }
    a.wait();
    REQUIRE(order.size() == 50);
    for (int i = 0; i < 50; ++i) CHECK(order[static_cast<size_t>(i)] == i);
}

TEST_CASE("the first error of an operation is its context's for good", "[engine]") {
    ::box::knobs("GPUSIM_CLOCK=stepped");
    Stream a;
    const Ns now = clock::now();
    const auto fault = std::make_shared<Fault>();
    Operation op;
    op.op = "kernel";
    op.earliest_ns = now;
    op.duration_ns = 10 * kUs;
    op.fault = fault;
    a.add(op);
    CHECK(fault->error == 0);
    op.error = 700;
    a.add(op);
    op.error = 719;
    a.add(op);
    CHECK(fault->error == 700);
    CHECK(fault->from_ns == now + 20 * kUs);
}

TEST_CASE("operations count as busy time of their kind, joins do not", "[engine]") {
    ::box::knobs("GPUSIM_CLOCK=stepped");
    Stream a;
    a.add("kernel", 10 * kUs);
    a.add("memset", 1 * kUs);
    a.add("d2h", 7 * kUs);
    a.add("p2p", 2 * kUs);
    Operation join;
    join.silent = true;
    join.duration_ns = 100 * kUs;
    a.add(join);
    CHECK(gpusim::box::busy_ns(0, Engine::compute) == 11 * kUs);
    CHECK(gpusim::box::busy_ns(0, Engine::copy) == 9 * kUs);
}

TEST_CASE("a point joins others and folds what is known by now", "[engine]") {
    ::box::knobs("GPUSIM_CLOCK=stepped");
    Stream a, b;
    const Ns now = clock::now();
    const auto open = std::make_shared<Told>();
    Point point = a.add("kernel", 10 * kUs);
    point.join(b.add(told_operation(open)));
    point.settle();
    CHECK(point.open.size() == 1);
    CHECK(point.end_ns == now + 10 * kUs);
    tell(*open, {now, now + 25 * kUs, 0});
    {
        const auto held = engine::lock();
        engine::pump();
        point.settle();
    }
    CHECK(point.open.empty());
    CHECK(point.end_ns == now + 25 * kUs);
}

TEST_CASE("a stepped question about an open operation that cannot have ended yet is answered at once",
          "[engine]") {
    ::box::knobs("GPUSIM_CLOCK=stepped");
    Stream a;
    a.add("kernel", 10 * kUs);
    a.add(told_operation(std::make_shared<Told>()));
    const auto before = std::chrono::steady_clock::now();
    for (int i = 0; i < 100; ++i) CHECK_FALSE(a.reached());
    // Were each answer waited for, this would be minutes.
    CHECK(std::chrono::steady_clock::now() - before < std::chrono::seconds(60));
}

}  // namespace engine_test
