// Spans replayed without our events, worked out by hand. Our events take 1.5 us of the thread and 2.5 us of
// the stream; a launch takes 4 us and starts 4 us after it returned on an empty queue (8 after it was
// entered).
#include "analysis/busy/undisturbed.h"

#include "calls.h"

#include <catch2/catch.hpp>

namespace undisturbed_test {

using namespace made;

namespace {

constexpr OwnCost kCost = {1500, 0, 2500, 4000, 0};

// A driver and a device as simple as the box's: what the same program's calls become with events or without.
// A stream's queue has room for so many entries, and a thread that finds it full waits, in a launch or in a
// record.
struct Machine {
    explicit Machine(bool with_events, size_t queue = SIZE_MAX) : events(with_events), room(queue) {}

    bool events;
    size_t room;
    int64_t now_ns = 0, stream_ns = 0;
    std::vector<Call> calls;
    Intervals ran;
    std::vector<int64_t> leaves_ns;  // by entry, when it has left the queue
    int64_t waited_in_records_ns = 0;

    void wait_for_room() {
        if (leaves_ns.size() >= room) now_ns = std::max(now_ns, leaves_ns[leaves_ns.size() - room]);
    }
    void event() {
        const int64_t asked_ns = now_ns;
        wait_for_room();
        waited_in_records_ns += now_ns - asked_ns;
        stream_ns = std::max(now_ns, stream_ns) + 2500;
        leaves_ns.push_back(stream_ns);
        now_ns += 1500;
    }
    void launch(int64_t dur_ns, int64_t more_ns = 0) {
        if (events) event();
        const int64_t enter_ns = now_ns;
        now_ns += more_ns;
        wait_for_room();
        const int64_t start_ns = std::max(now_ns + 8000, stream_ns);
        leaves_ns.push_back(start_ns);
        calls.push_back(made::ran(made::launch(0, enter_ns, now_ns + 4000), start_ns, start_ns + dur_ns, 2));
        ran.push_back({start_ns, start_ns + dur_ns});
        now_ns += 4000;
        stream_ns = start_ns + dur_ns;
        if (events) event();
    }
    void wait() {
        const int64_t exit_ns = std::max(now_ns + 200, stream_ns);
        calls.push_back(sync_stream(0, now_ns, exit_ns));
        now_ns = exit_ns;
    }
    void work(int64_t ns) { now_ns += ns; }
    double share() const {
        return static_cast<double>(length_ns(clip(unite(ran), {0, now_ns}))) / static_cast<double>(now_ns);
    }
};

// What records took is known as a sum.
OwnCost cost_in(const Machine& machine) {
    OwnCost cost = kCost;
    cost.asking_ns = machine.waited_in_records_ns / static_cast<int64_t>(machine.calls.size());
    return cost;
}

template <class Program>
void compare(Program program, double within = 0.002, size_t room = SIZE_MAX, double off_ns = 20'000) {
    Machine with(true, room), without(false, room);
    program(with);
    program(without);
    const Replayed replayed =
        replay(with.calls, 0, lanes(1), cost_in(with), {0, with.now_ns}, 0, Lean::estimate);
    const double share =
        static_cast<double>(length_ns(replayed.busy)) / static_cast<double>(replayed.span.length_ns());
    INFO("as it ran " << with.share() << ", without events " << without.share() << ", replayed " << share);
    CHECK(share == Approx(without.share()).margin(within));
    CHECK(replayed.span.length_ns() == Approx(without.now_ns).margin(off_ns));
}

}  // namespace

//  with      rec[L ]rec rec[L ]rec rec…     a launch every 7 us
//  stream     ev ██ev    ev ██ev            2 of 7: 0.29
//  without   [L ][L ][L ][L ]               a launch every 4 us
//  stream         ██  ██  ██                2 of 4: 0.5
TEST_CASE("a launch-starved loop is half busy without us", "[undisturbed]") {
    std::vector<Call> calls;
    for (int64_t i = 0; i < 10'000; ++i) {
        const int64_t enter_ns = i * 7000 + 1500;
        calls.push_back(ran(launch(0, enter_ns, enter_ns + 4000), enter_ns + 8000, enter_ns + 10'000, 2));
    }
    const Interval span = {0, 70'000'000};
    const Replayed replayed = replay(calls, 0, lanes(1), kCost, span, 0, Lean::estimate);
    // Every call comes 3 us earlier for each one before it, and 1.5 us for its own first event. The last
    // began after the span: without us 0.5 us of it is in.
    CHECK(replayed.span.length_ns() == 70'000'000 - 9998 * 3000 - 1500);
    CHECK(length_ns(replayed.busy) == 9999 * 2000 + 500);
}

TEST_CASE("what the host limits comes as early as the host", "[undisturbed]") {
    compare([](Machine& machine) {
        for (int i = 0; i < 3000; ++i) machine.launch(2000);
    });
    compare([](Machine& machine) {
        for (int i = 0; i < 3000; ++i) {
            machine.launch(5000);
            machine.work(20'000);
        }
    });
}

//  with      ev ████ ev ev ████ ev ev ████      the device's queue is never empty
//  without   ████████████                       busy all the time
TEST_CASE("what the device limits is busy all the time without us", "[undisturbed]") {
    compare(
        [](Machine& machine) {
            for (int i = 0; i < 3000; ++i) machine.launch(10'000);
            machine.wait();
        },
        0.003);
}

//  thread    [L][L][L][L   (no room)   ][L   (no room)   ]
//  stream        ███████ ███████ ███████ ███████ ███████
TEST_CASE("a thread that has filled the queue comes as much earlier as the stream", "[undisturbed]") {
    Machine with(true, 1024), without(false, 1024);
    for (Machine* machine : {&with, &without})
        for (int i = 0; i < 5000; ++i) machine->launch(i % 2 == 0 ? 5000 : 150'000);
    REQUIRE(with.waited_in_records_ns > 100'000'000);
    const Undisturbed would = undisturb(with.calls, 0, 0, lanes(1), cost_in(with), {});
    for (const size_t i : {1500u, 3000u, 4998u}) {
        INFO("launch " << i);
        CHECK(std::abs(would.calls[i].enter_ns - without.calls[i].enter_ns) < 1'000'000);
        CHECK(std::abs(would.calls[i].times.start_ns - without.calls[i].times.start_ns) < 1'000'000);
    }
}

TEST_CASE("records that wait for room are no time of a host that is ahead", "[undisturbed]") {
    for (const int64_t dur_ns : {15'000, 20'000, 30'000})
        compare(
            [&](Machine& machine) {
                for (int step = 0; step < 10; ++step) {
                    for (int i = 0; i < 3000; ++i) machine.launch(dur_ns);
                    machine.work(40'000'000);
                }
            },
            0.02, 1024, 20'000'000);
}

//  span                   |───────────────|     the queue was full before it began
TEST_CASE("steps of a host that is far ahead are as long as the stream's", "[undisturbed]") {
    Machine with(true, 1024), without(false, 1024);
    for (Machine* machine : {&with, &without})
        for (int i = 0; i < 12'000; ++i) machine->launch(i % 2 == 0 ? 5000 : 150'000);
    const std::vector<Call> in_span(with.calls.begin() + 4000, with.calls.end());
    const Undisturbed would = undisturb(in_span, 0, 0, lanes(1), cost_in(with), {});
    const auto step_ns = [](const std::vector<Call>& calls, size_t first) {
        return calls[first + 1000].enter_ns - calls[first].enter_ns;
    };
    for (const size_t first : {500u, 3000u, 6000u})
        CHECK(static_cast<double>(step_ns(would.calls, first)) ==
              Approx(static_cast<double>(step_ns(without.calls, 4000 + first))).epsilon(0.01));
}

//  thread    [L][L] … [L: loads code      ]   6 ms of work
//  stream        ██████ … ██████               600 entries: there is room
TEST_CASE("a launch that is long of itself holds nothing up", "[undisturbed]") {
    compare(
        [](Machine& machine) {
            for (int step = 0; step < 60; ++step) {
                for (int i = 0; i < 200; ++i) machine.launch(12'000);
                machine.launch(12'000, 250'000);
                machine.work(6'000'000);
            }
        },
        0.005, 1024, 1'000'000);
}

//  thread    [L][L][L][wait      ]work[L][L][L][wait   ]
//  stream        ███████████████           ████████████
TEST_CASE("a thread that waits returns when the stream is there without us", "[undisturbed]") {
    for (const int64_t dur_ns : {1000, 3000, 6000, 12'000})
        for (const int64_t work_ns : {0, 10'000, 100'000})
            compare(
                [&](Machine& machine) {
                    for (int step = 0; step < 300; ++step) {
                        for (int i = 0; i < 10; ++i) machine.launch(dur_ns);
                        machine.wait();
                        machine.work(work_ns);
                    }
                },
                0.01);
}

//  stream 0   ev ████ ev record
//  stream 1                    └wait ████       starts when stream 0 is there, 5 us earlier without us
TEST_CASE("a stream that waits for another starts when that is there", "[undisturbed]") {
    const std::vector<Call> calls = {
        ran(launch(0, 1500, 5500), 9500, 109'500, 2),
        other(CallKind::record, 0, 77, 7000, 8500),
        other(CallKind::wait, 1, 77, 8500, 8700),
        ran(launch(1, 10'200, 14'200), 114'500, 124'500, 2),
    };
    const Replayed replayed = replay(calls, 0, lanes(2), kCost, {0, 200'000}, 0, Lean::estimate);
    // The first starts 1.5 us earlier; the second when the first is over.
    CHECK(replayed.busy == Intervals{{8000, 118'000}});
    CHECK(replayed.span.end_ns == 200'000 - 6500);
}

//  legacy     ev ████ ev
//  stream 1              ev ████ ev       waits for the legacy stream by itself, and that for it
//  legacy                           ev ████
TEST_CASE("the legacy stream and those that join it wait for each other", "[undisturbed]") {
    std::vector<Lane> all = lanes(2);
    all[0].legacy = true;
    all[1].joins_legacy = true;
    const std::vector<Call> calls = {ran(launch(0, 1500, 5500), 9500, 109'500, 2),
                                     ran(launch(1, 8500, 12'500), 114'500, 214'500, 2),
                                     ran(launch(0, 15'500, 19'500), 219'500, 319'500, 2)};
    CHECK(replay(calls, 0, all, kCost, {0, 400'000}, 0, Lean::estimate).busy == Intervals{{8000, 308'000}});
}

//  thread 1   rec[L ]rec               rec[L ]rec
//  thread 2              rec[L ]rec                     begins when the first is through, with or without us
TEST_CASE("threads that take turns come earlier by what all have saved", "[undisturbed]") {
    std::vector<Call> calls;
    for (int64_t i = 0; i < 1000; ++i) {
        const int64_t enter_ns = i * 7000 + 1500;
        calls.push_back(
            ran(launch(0, enter_ns, enter_ns + 4000, 1 + i % 2), enter_ns + 8000, enter_ns + 10'000, 2));
    }
    const Interval span = {0, 7'000'000};
    CHECK(replay(calls, 0, lanes(1), kCost, span, 0, Lean::estimate).span.end_ns ==
          7'000'000 - 998 * 3000 - 1500);
    // Two that launch at the same time each save their own.
    for (Call& call : calls)
        if (call.thread_id == 2) call.enter_ns -= 4000;
    CHECK(replay(calls, 0, lanes(1), kCost, span, 0, Lean::estimate).span.end_ns >
          7'000'000 - 500 * 3000 - 1500);
}

TEST_CASE("a copy to the host returns when it is over, and earlier by that", "[undisturbed]") {
    Call copy = ran(launch(0, 10'000, 31'000), 20'000, 30'000, 2);
    copy.completes = true;
    const std::vector<Call> calls = {ran(launch(0, 1500, 5500), 9500, 15'000, 2), copy,
                                     ran(launch(0, 34'000, 38'000), 42'000, 50'000, 2)};
    const Replayed replayed = replay(calls, 0, lanes(1), kCost, {0, 60'000}, 0, Lean::estimate);
    // The first from 8 to 13.5; the copy, 4.5 us earlier at its call, behind it to 23.5, and its thread is
    // back at 24.5. Of the 3 us to the next launch nothing was the program's own: that starts 8 us later.
    CHECK(replayed.busy == Intervals{{8000, 23'500}, {32'500, 40'500}});
}

TEST_CASE("operations from before the span are moved only by what ran before them", "[undisturbed]") {
    //  launched before:  ███ev ev███ev   the first is where it was, the second 5 us earlier
    const std::vector<Call> calls = {ran(launch(0, 0, 4000), 90'000, 110'000, 2),
                                     ran(launch(0, 7000, 11'000), 115'000, 135'000, 2)};
    const Replayed replayed = replay(calls, 2, lanes(1), kCost, {100'000, 200'000}, 0, Lean::estimate);
    CHECK(replayed.busy == Intervals{{100'000, 130'000}});
}

TEST_CASE("shorter and longer stay within what is known of each operation", "[undisturbed]") {
    Call call = ran_about(launch(0, 1500, 5500), 9500, 300, 19'500, 700);
    call.times.likely_ns = 100;
    const std::vector<Call> calls = {call};
    const auto busy = [&](Lean lean) {
        return length_ns(replay(calls, 0, lanes(1), {}, {0, 50'000}, 0, lean).busy);
    };
    CHECK(busy(Lean::shorter) == 9800);
    CHECK(busy(Lean::estimate) == 10'000);
    CHECK(busy(Lean::longer) == 10'200);
}

// What the same program's calls are with our events and without.
TEST_CASE("calls come out as they would have been", "[undisturbed]") {
    Machine with(true), without(false);
    for (Machine* machine : {&with, &without})
        for (int step = 0; step < 3; ++step) {
            for (int i = 0; i < 5; ++i) machine->launch(2000 + 1000 * i);
            machine->wait();
            machine->now_ns += 50'000;  // the host's own work
        }
    const DeviceSpan span = {0, {0, with.now_ns}};
    const Undisturbed would = undisturb(with.calls, 0, 0, lanes(1), kCost, {&span, 1});
    REQUIRE(would.calls.size() == without.calls.size());
    for (size_t i = 0; i < would.calls.size(); ++i) {
        INFO(i);
        CHECK(would.calls[i].enter_ns == without.calls[i].enter_ns);
        CHECK(would.calls[i].exit_ns == without.calls[i].exit_ns);
        CHECK(would.calls[i].times.start_ns == without.calls[i].times.start_ns);
        CHECK(would.calls[i].times.end_ns == without.calls[i].times.end_ns);
        CHECK(would.calls[i].times.events == 0);
        CHECK(would.moved(with.calls[i].enter_ns) == without.calls[i].enter_ns);
    }
    CHECK(would.moved(with.calls.back().enter_ns + 7) == without.calls.back().enter_ns + 7);
}

TEST_CASE("calls of the host come as much earlier as their thread does", "[undisturbed]") {
    Machine machine(true);
    machine.launch(2000);
    const int64_t saved_ns = 2 * 1500;
    std::vector<Call> calls = machine.calls;
    calls.push_back(other(CallKind::host_gap, kNoLane, kNoTarget, 100'000, 200'000));
    calls.push_back(other(CallKind::memory, kNoLane, kNoTarget, 200'000, 210'000));
    calls.push_back(other(CallKind::memory, kNoLane, kNoTarget, 200'001, 200'002, 2));
    calls.push_back(launch(0, 300'000, 304'000));  // without device times
    const Undisturbed would = undisturb(calls, 0, 0, lanes(1), kCost, {});
    REQUIRE(would.calls.size() == 5);
    CHECK(would.calls[1].enter_ns == 100'000 - saved_ns);
    CHECK(would.calls[1].exit_ns == 200'000 - saved_ns);
    CHECK(would.calls[2].enter_ns == 200'000 - saved_ns);
    CHECK(would.calls[4].enter_ns == 300'000 - saved_ns);
}

//  thread 1   rec[L ]rec               rec[L ]rec
//  thread 2               ──── gap ────            [L ]      the gap ends where its next call begins
TEST_CASE("a thread that is in no call while another saves time is in none for less", "[undisturbed]") {
    const std::vector<Call> calls = {
        ran(launch(0, 1'500, 5'500, 2), 9'500, 10'500, 2),
        other(CallKind::host_gap, kNoLane, kNoTarget, 7'000, 200'000, 2),
        ran(launch(0, 100'000, 104'000, 1), 108'000, 109'000, 2),
        ran(launch(0, 110'000, 114'000, 1), 118'000, 119'000, 2),
        ran(launch(0, 200'000, 204'000, 2), 208'000, 209'000, 2),
    };
    const Undisturbed would = undisturb(calls, 0, 0, lanes(1), kCost, {});
    REQUIRE(would.calls.size() == 5);
    // One event before it, two around each launch before that.
    CHECK(would.calls[4].enter_ns == 200'000 - 3 * 3'000 - 1'500);
    CHECK(would.calls[1].enter_ns == 7'000 - 3'000);
    CHECK(would.calls[1].exit_ns == would.calls[4].enter_ns);
}

//  thread 1   L─────┐                  |m       would come 3 us earlier, before thread 2's
//  thread 2     L─────┐        m       |
TEST_CASE("what is behind the span stays behind it", "[undisturbed]") {
    const std::vector<Call> calls = {ran(launch(0, 0, 4000), 8000, 9000, 2), launch(1, 2000, 6000, 2),
                                     other(CallKind::memory, kNoLane, kNoTarget, 20'000, 21'000, 2),
                                     other(CallKind::memory, kNoLane, kNoTarget, 20'001, 20'002)};
    const Undisturbed inside = undisturb(calls, 0, 0, lanes(2), kCost, {});
    CHECK(inside.calls.back().enter_ns == 20'000);
    const Undisturbed would = undisturb(calls, 0, 1, lanes(2), kCost, {});
    CHECK(would.behind == 1);
    CHECK(would.calls.back().enter_ns == 20'001 - 3000);
    CHECK(would.moved(20'000) == 20'000);
}

}  // namespace undisturbed_test
