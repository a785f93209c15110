// Busy shares of whole traces, made by hand: windows, coverage, work from before a window, and what is said
// where there are no device times.
#include "analysis/busy/busy.h"

#include "made_trace.h"

#include <catch2/catch.hpp>

namespace busy_test {

using namespace made;

//  window   |──────────────────────────────|  0 to 1000 us
//  stream 1    ███200███      ██100██
//  stream 2         ███200███                  100 of it at the same time
TEST_CASE("operations at the same time count once", "[busy]") {
    Made made(2);
    made.timed(90'000, 94'000, 100'000, 300'000, 3);
    made.timed(190'000, 194'000, 200'000, 400'000, 3, 2);
    made.timed(590'000, 594'000, 600'000, 700'000, 3);
    made.window(0, 1'000'000, 3, 3);
    made.ends(1'000'000);
    const DeviceBusy busy = made.busy();
    CHECK(busy.level() == "events");
    CHECK(!busy.sampled());
    CHECK(*busy.as_it_ran().share == Approx(0.4));
    CHECK(busy.as_it_ran().low == Approx(0.4));
    CHECK(busy.as_it_ran().high == Approx(0.4));
    CHECK(*busy.without_us().share == Approx(0.4));
    CHECK(*busy.coverage() == 1);
}

//  window   |──────────────────────────────|  0 to 100 us
//  it is in    (─██████─)        (─██████─)    20 us each, ±1 us at both ends
TEST_CASE("bounds are the most and the least that may have run", "[busy]") {
    Made made;
    made.timed(5000, 9000, 10'000, 30'000, 2);
    made.timed(50'000, 54'000, 60'000, 80'000, 2);
    made.window(0, 100'000, 2, 2);
    made.ends(100'000);
    const Figure figure = made.busy().as_it_ran();
    CHECK(figure.low == Approx(0.36));
    CHECK(*figure.share == Approx(0.40));
    CHECK(figure.high == Approx(0.44));
}

TEST_CASE("an operation at a window's edge is clipped", "[busy]") {
    Made made;
    made.timed(5000, 9000, 80'000, 120'000, 3);
    made.sync(130'000, 140'000);
    made.window(0, 100'000, 1, 1);
    made.ends(200'000);
    const DeviceBusy busy = made.busy();
    REQUIRE(busy.windows.size() == 1);
    CHECK(busy.windows[0].busy_ns == 20'000);
    CHECK(busy.windows[0].span == Interval{0, 100'000});
}

//  launches   L L L |L  L  L  L |L
//  stream     ▒▒▒▒▒▒▒▒▒▒▒██████████████▒▒▒     ▒ no device times
//  span                  |────────────|
TEST_CASE("a stream that is behind is looked at from its first operation with device times", "[busy]") {
    Made made;
    for (int64_t i = 0; i < 3; ++i) made.launch(i * 10'000, i * 10'000 + 4000);
    for (int64_t i = 0; i < 4; ++i)
        made.timed(100'000 + i * 10'000, 104'000 + i * 10'000, 180'000 + i * 20'000, 198'000 + i * 20'000, 3);
    made.launch(150'000, 154'000);
    made.sync(160'000, 300'000);
    made.window(100'000, 140'000, 4, 4);
    made.ends(300'000);
    const DeviceBusy busy = made.busy();
    REQUIRE(busy.windows.size() == 1);
    CHECK(busy.windows[0].span == Interval{180'000, 258'000});
    CHECK(busy.windows[0].busy_ns == 72'000);
    CHECK(busy.windows[0].low_ns == 72'000);
    CHECK(busy.windows[0].high_ns == 72'000);
    CHECK(busy.sampled());
}

//  launches   L L |L  L  L  L |           |
//  stream     ▒▒▒▒▒▒▒▒▒▒▒██████████████
//  windows        |───────────|───────────|
//  spans                 |────|───────────|     no moment is in two of them
TEST_CASE("a span goes on into the next one where windows follow each other", "[busy]") {
    Made made;
    for (int64_t i = 0; i < 3; ++i) made.launch(i * 10'000, i * 10'000 + 4000);
    for (int64_t i = 0; i < 4; ++i)
        made.timed(100'000 + i * 10'000, 104'000 + i * 10'000, 140'000 + i * 20'000, 160'000 + i * 20'000, 3);
    made.window(100'000, 200'000, 4, 4);
    made.window(200'000, 300'000, 0, 0);
    made.ends(300'000);
    const DeviceBusy busy = made.busy();
    REQUIRE(busy.windows.size() == 2);
    CHECK(busy.windows[0].span == Interval{140'000, 200'000});
    CHECK(busy.windows[1].span == Interval{200'000, 300'000});
    CHECK(busy.windows[0].busy_ns + busy.windows[1].busy_ns == 80'000);
}

TEST_CASE("a span ends where work without device times may begin", "[busy]") {
    Made made(2);
    made.launch(0, 4000);
    for (int64_t i = 0; i < 4; ++i)
        made.timed(100'000 + i * 10'000, 104'000 + i * 10'000, 180'000 + i * 20'000, 198'000 + i * 20'000, 3);
    made.launch(205'000, 209'000, 2);
    made.sync(210'000, 300'000);
    made.window(100'000, 140'000, 4, 4);
    made.ends(300'000);
    CHECK(made.busy().windows.at(0).span == Interval{180'000, 205'000});
}

//  window   |─────────────────|
//  stream    ███    L ▒▒▒▒▒▒▒▒▒▒▒        the second has no device times, and nobody waits for it
TEST_CASE("an operation that has no device times may run until the window's end", "[busy]") {
    Made made;
    made.timed(5000, 9000, 10'000, 30'000, 3);
    made.launch(60'000, 64'000);
    made.window(0, 100'000, 2, 1);
    made.ends(100'000);
    const DeviceBusy busy = made.busy();
    CHECK(busy.windows.at(0).low_ns == 20'000);
    CHECK(busy.windows.at(0).busy_ns == 20'000);
    CHECK(busy.windows.at(0).high_ns == 60'000);
    made.clock();  // without our events the same
    CHECK(made.busy().windows.at(0).estimate.part_ns == 20'000);
    CHECK(made.busy().windows.at(0).at_most.part_ns == 60'000);
}

//  window         |────────────────────────|
//  stream 1        █ █ █ █ █ █ █ █ █
//  stream 2    L L ▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒     launched before there were device times, never waited for
TEST_CASE("of work from before a window, others tell how long it likely took", "[busy]") {
    for (const int64_t timed : {29, 40}) {
        Made made(2);
        made.launch(10'000, 14'000, 2);
        made.launch(20'000, 24'000, 2);
        for (int64_t i = 0; i < timed; ++i) {
            const int64_t at_ns = 100'000 + i * 10'000;
            made.timed(at_ns, at_ns + 4000, at_ns + 5000, at_ns + (i % 2 == 0 ? 7000 : 9000), 3);
        }
        made.clock();
        made.window(100'000, 1'100'000, timed, timed);
        made.ends(1'100'000);
        const SpanBusy busy = made.busy().windows.at(0);
        REQUIRE(busy.span == Interval{100'000, 1'100'000});
        const int64_t alone_ns = 1'000'000 - busy.busy_ns;
        CHECK(busy.high_ns == 1'000'000);
        CHECK(busy.highest.part_ns == busy.highest.whole_ns);
        // 2 of 3 us each, and twice √2 · 1 us; at any time, so of it as much falls upon others as they are
        // busy. Of a few there is no saying.
        if (timed == 40)
            CHECK(busy.at_most.part_ns == busy.busy_ns + (8'828 * alone_ns + 500'000) / 1'000'000);
        if (timed == 29) CHECK(busy.at_most.part_ns == busy.at_most.whole_ns);
    }
}

//  window   |──────────────────────────────|
//  stream    █ █ █ █ █ █ █ █ █   L L ▒▒▒▒▒▒▒▒      the last two have no device times
TEST_CASE("of what has no device times in a window, others do not tell how long it took", "[busy]") {
    Made made;
    for (int64_t i = 0; i < 40; ++i)
        made.timed(i * 10'000, i * 10'000 + 4000, i * 10'000 + 5000, i * 10'000 + 7000, 3);
    made.launch(500'000, 504'000);
    made.launch(510'000, 514'000);
    made.clock();
    made.window(0, 1'000'000, 42, 40);
    made.ends(1'000'000);
    const SpanBusy busy = made.busy().windows.at(0);
    CHECK(busy.busy_ns == 80'000);
    CHECK(busy.high_ns == 580'000);
    CHECK(busy.at_most.part_ns == 580'000);
}

//  launches   L |         L    |
//  stream      ▒▒▒▒▒▒?         ███      the first may have run until the second began
TEST_CASE("work from before a window that nobody waited for may still run in it", "[busy]") {
    Made made;
    made.launch(0, 4000);
    made.timed(150'000, 154'000, 153'000, 163'000, 3);
    // Not queued: the stream had been empty.
    made.run("UPDATE level_error SET queued = 0 WHERE id = 3");
    made.window(100'000, 200'000, 1, 1);
    made.ends(200'000);
    const DeviceBusy busy = made.busy();
    REQUIRE(busy.windows.size() == 1);
    CHECK(busy.windows[0].span == Interval{100'000, 200'000});
    CHECK(busy.windows[0].busy_ns == 10'000);
    CHECK(busy.windows[0].low_ns == 10'000);
    CHECK(busy.windows[0].high_ns == 63'000);
}

TEST_CASE("what was launched before a window with device times counts in it", "[busy]") {
    //  |──────────── window ────────────|──────────── window ────────────|
    //                       ██████████████████
    Made made;
    made.timed(50'000, 54'000, 80'000, 120'000, 3);
    made.timed(60'000, 64'000, 120'000, 130'000, 3);
    made.window(0, 100'000, 2, 2);
    made.window(100'000, 200'000, 0, 0);
    made.ends(200'000);
    const DeviceBusy busy = made.busy();
    REQUIRE(busy.windows.size() == 2);
    CHECK(busy.windows[0].busy_ns == 20'000);
    CHECK(busy.windows[1].busy_ns == 30'000);
    CHECK(*busy.as_it_ran().share == Approx(0.25));
}

TEST_CASE("too little coverage is refused, a little too little is not", "[busy]") {
    for (const int64_t timed : {89, 91}) {
        Made made;
        for (int64_t i = 0; i < 100; ++i) {
            const int64_t enter_ns = i * 500;
            if (i < timed)
                made.timed(enter_ns, enter_ns + 100, enter_ns + 100, enter_ns + 500, 3);
            else
                made.launch(enter_ns, enter_ns + 100);
        }
        made.sync(80'000, 90'000);
        made.window(0, 100'000, 100, timed);
        made.ends(100'000);
        const DeviceBusy busy = made.busy();
        CHECK(busy.without_us().share.has_value() == (timed == 91));
        CHECK(busy.why().empty() == (timed == 91));
        CHECK(busy.level() == (timed == 91 ? "events" : "host"));
        CHECK(busy.without_us().high >= 0.4);
        CHECK(*busy.coverage() == Approx(0.01 * static_cast<double>(timed)));
    }
}

// As many have no times as above, but each lies between two that do.
TEST_CASE("few operations with times are enough where the others leave little open", "[busy]") {
    for (const bool is_apart : {true, false}) {
        Made made;
        for (int64_t i = 0; i < 100; ++i) {
            const int64_t enter_ns = i * 500;
            if (is_apart ? i % 8 != 5 : i < 88)
                made.timed(enter_ns, enter_ns + 100, enter_ns + 100, enter_ns + 500, 3);
            else
                made.launch(enter_ns, enter_ns + 100);
        }
        made.sync(80'000, 90'000);
        made.window(0, 100'000, 100, 88);
        made.ends(100'000);
        const DeviceBusy busy = made.busy();
        REQUIRE(busy.windows.size() == 1);
        CHECK(*busy.coverage() == Approx(0.88));
        CHECK(busy.without_us().share.has_value() == is_apart);
        // Each of twelve, at most from its launch to where the next one starts.
        if (is_apart) CHECK(busy.windows[0].open_ns == 12 * 600);
        if (is_apart) CHECK(busy.without_us().high >= *busy.without_us().share + 0.07);
    }
}

//  launches  L    L    [sync──]          L   [sync─]
//  may be    ├────────────────┤          ├─────────┤      100 + 60 of 400
TEST_CASE("without device times there are bounds and no figure", "[busy]") {
    Made made;
    made.launch(0, 4000);
    made.launch(50'000, 54'000);
    made.sync(60'000, 100'000);
    made.launch(200'000, 204'000);
    made.sync(210'000, 260'000);
    made.ends(400'000);
    const DeviceBusy busy = made.busy();
    CHECK(busy.level() == "host");
    CHECK(!busy.without_us().share);
    CHECK(busy.without_us().low == 0);
    CHECK(busy.without_us().high == Approx(0.4));
    CHECK(busy.why() == "device times are not recorded");
}

TEST_CASE("a device that did nothing was idle", "[busy]") {
    Made made;
    made.ends(100'000);
    const DeviceBusy busy = made.busy();
    CHECK(*busy.without_us().share == 0);
    CHECK(busy.without_us().high == 0);
    CHECK(busy.why().empty());
}

//  with our events   a launch every 7 us, 2 of it busy; without them every 4 us
TEST_CASE("the share is that of the program without our events", "[busy]") {
    Made made;
    constexpr int64_t kLaunches = 2000;
    for (int64_t i = 0; i < kLaunches; ++i) {
        const int64_t enter_ns = i * 7000 + 1500;
        made.timed(enter_ns, enter_ns + 4000, enter_ns + 8000, enter_ns + 10'000, 1);
    }
    made.clock();
    made.window(0, kLaunches * 7000, kLaunches, kLaunches, kLaunches * 2 * kRecordNs);
    made.ends(kLaunches * 7000);
    const DeviceBusy busy = made.busy();
    CHECK(*busy.as_it_ran().share == Approx(2.0 / 7).margin(0.001));
    CHECK(*busy.without_us().share == Approx(0.5).margin(0.001));
    CHECK(busy.without_us().low <= 0.5);
    CHECK(busy.without_us().high >= 0.499);
    REQUIRE(busy.windows.size() == 1);
    CHECK(busy.windows[0].undisturbed);
}

//  windows  |─|         |─|         |─|       1 ms of 10 ms each
//  stream    ██▒▒▒▒▒▒▒▒▒▒██▒▒▒▒▒▒▒▒▒▒██▒▒▒▒   ▒ may be busy: nobody waited
TEST_CASE("a run from windows is an estimate with a range", "[busy]") {
    Made made;
    made.run("UPDATE level_error SET queued = 0 WHERE id = 3");
    made.clock();
    for (int64_t i = 0; i < 10; ++i) {
        const int64_t from_ns = i * 10'000'000;
        made.timed(from_ns + 10'000, from_ns + 14'000, from_ns + 100'000, from_ns + 500'000 + i * 10'000, 3);
        made.launch(from_ns + 1'100'000, from_ns + 1'104'000);
        made.window(from_ns, from_ns + 1'000'000, 1, 1);
    }
    made.ends(100'000'000);
    const Figure figure = made.busy().without_us();
    CHECK(made.busy().sampled());
    CHECK(made.busy().timed_share() == Approx(0.1));
    CHECK(*figure.share == Approx(0.445));
    CHECK(figure.low > 0.41);
    CHECK(figure.low < 0.44);
    CHECK(figure.high > 0.55);  // 0.1 ms of each: what came before may still run
    CHECK(figure.high < 0.58);
}

TEST_CASE("one window does not speak for the rest of its run, but the host's bounds do", "[busy]") {
    Made made;
    made.timed(10'000, 14'000, 100'000, 500'000, 3);
    made.window(0, 1'000'000, 1, 1);
    made.ends(10'000'000);
    SECTION("nothing more was launched") {
        const Figure figure = made.busy().without_us();
        CHECK(*figure.share == Approx(0.04));
        CHECK(figure.low == Approx(0.04));
        CHECK(figure.high == Approx(0.04));
    }
    SECTION("something was launched later") {
        made.launch(4'000'000, 4'004'000);
        made.sync(5'000'000, 9'000'000);
        const Figure figure = made.busy().without_us();
        CHECK(*figure.share == Approx(0.4));
        CHECK(figure.low == Approx(0.04));
        CHECK(figure.high == Approx(0.54));
    }
}

// Busy half of its window of 4 s, a quarter of the next, of 8 s: each stands for 10 s of the run.
//
//   run    |----------|----------|
//   timed  |████      |████████  |
TEST_CASE("a window stands for its part of the run, however short it is", "[busy]") {
    constexpr int64_t kSecond = 1'000'000'000;
    const auto window = [](int64_t from_s, int64_t length_s, int64_t busy_s) {
        SpanBusy busy = {};
        busy.window.slot = from_s / 10;
        busy.span = {from_s * kSecond, (from_s + length_s) * kSecond};
        busy.estimate = busy.at_least = busy.at_most = {busy_s * kSecond, length_s * kSecond};
        busy.operations = busy.queued = 1;
        return busy;
    };
    DeviceBusy device = {0, {0, 20 * kSecond}, 20 * kSecond, {window(0, 4, 2), window(10, 8, 2)}};
    CHECK(*device.without_us().share == Approx(0.375));
    // Where somebody asked for ranges, they are what was asked about.
    for (SpanBusy& busy : device.windows) busy.window.slot.reset();
    CHECK(*device.without_us().share == Approx(4.0 / 12));
}

}  // namespace busy_test
