// What the host did, summed up: waits, threads, loads, calls by name.
#include "analysis/run/parts/open_ranges.h"
#include "analysis/run/parts/own_parts.h"
#include "made_facts.h"

#include <catch2/catch.hpp>

namespace host_parts_test {

using namespace made;

namespace {

constexpr int64_t kStreamSync = 3, kQuery = 4, kLaunchApi = 5;

struct HostFacts : MadeFacts {
    explicit HostFacts(int gpus = 1) : MadeFacts(gpus, 2) {
        facts.apis[kStreamSync] = {"cuStreamSynchronize", "cuStreamSynchronize", "sync"};
        facts.apis[kQuery] = {"cuStreamQuery", "cuStreamQuery", "query"};
        facts.apis[kLaunchApi] = {"cuLaunchKernel", "cuLaunchKernel", "launch"};
        made.run(
            "INSERT INTO api VALUES (3, 'cuStreamSynchronize', 'cuStreamSynchronize', 'sync'),"
            " (4, 'cuStreamQuery', 'cuStreamQuery', 'query'),"
            " (5, 'cuLaunchKernel', 'cuLaunchKernel', 'launch')");
        made.run(
            "INSERT INTO handle VALUES (50, 'stream', 1, 0, NULL, NULL, 0, NULL),"
            " (51, 'event', 1, 0, NULL, NULL, 0, NULL)");
    }
};
Call by(Call call, int64_t api_id) {
    call.api_id = api_id;
    return call;
}
Call sync(int64_t target, int64_t enter_ns, int64_t exit_ns, int64_t thread = 1) {
    return by(sync_on(target, enter_ns, exit_ns, thread), kStreamSync);
}

}  // namespace

TEST_CASE("waits by what they wait for, in steps, and behind small copies", "[sync_part]") {
    HostFacts made;
    made.step(0, 1000);
    made.step(1000, 2000);
    Call query = sync(50, 900, 950);
    query.api_id = kQuery;
    Written written;
    all_of(make_sync_part(made.facts), made,
           {in_step(sync(50, 0, 100), 0), of_kind(launch(0, 200, 210), OperationClass::d2h, 4),
            in_step(sync(50, 300, 350), 0), in_step(sync(50, 400, 410), 0),
            of_kind(launch(0, 500, 510), OperationClass::d2h, 4), sync(51, 600, 700, 2), query,
            of_kind(launch(0, 1000, 1010), OperationClass::h2d, 4), in_step(sync(50, 1100, 1140), 1),
            sync(50, 2100, 2400), sync(kNoTarget, 2500, 2501)},
           written);
    CHECK(written.ask("SELECT calls, sum_ns, max_ns, in_steps, steps, after_small_d2h FROM sync_stat"
                      " WHERE target_kind = 'stream'") == "5 500 300 4 2 1");
    CHECK(written.ask("SELECT rank_id, api, calls, after_small_d2h FROM sync_stat"
                      " WHERE target_kind = 'event'") == "7 cuStreamSynchronize 1 0");
    CHECK(written.ask("SELECT calls FROM sync_stat WHERE target_kind = ''") == "1");
    CHECK(written.ask("SELECT count(*) FROM sync_stat") == "3");
}

TEST_CASE("waits of the whole run, polls left out", "[sync_part]") {
    HostFacts made;
    made.total("kind, api_id, target_kind", "'sync', 3, 'stream'", 400, 9000);
    made.total("kind, api_id, target_kind", "'sync', 4, 'stream'", 90, 90);
    Written written;
    all_of(make_sync_part(made.facts), made, {sync(50, 0, 100)}, written);
    CHECK(written.ask("SELECT calls, sum_ns, max_ns FROM sync_stat") == "400 9000 9000");
    CHECK(written.ask("SELECT count(*) FROM sync_stat") == "1");
}

//  thread 1   ══NCCL(0-100)══    launch 200-210    launch 300-310, another GPU
//               launch 20-30
//  gap rows                  100-200: 60 ran, 10 ready        210-300: not known
TEST_CASE("what a launching thread does in calls and between them", "[thread_part]") {
    HostFacts made(2);
    Call gap = other(CallKind::host_gap, kNoLane, kNoTarget, 100, 200);
    gap.detail = 60;
    gap.runqueue_ns = 10;
    const Call unknown = other(CallKind::host_gap, kNoLane, kNoTarget, 210, 300);
    Written written;
    all_of(make_thread_part(made.facts), made,
           {other(CallKind::collective, 0, kNoTarget, 0, 100), launch(0, 20, 30), gap, launch(1, 200, 210),
            unknown, launch(2, 300, 310), launch(3, 320, 330), launch(0, 340, 350),
            sync_stream(0, 400, 500, 2), launch(0, 600, 601, 3)},
           written);
    CHECK(written.ask("SELECT launches, gpus, device_switches, api_ns, running_ns, blocked_ns, runqueue_ns"
                      " FROM thread_stat WHERE thread_id = 1") == "5 2 2 140 60 30 10");
    CHECK(written.ask("SELECT launches FROM thread_stat WHERE thread_id = 2") == "no row");
    CHECK(written.ask("SELECT launches, gpus, device_switches, running_ns FROM thread_stat"
                      " WHERE thread_id = 3") == "1 1 0 -");
}

TEST_CASE("loads after warm-up are those in steps that are none", "[load_part]") {
    HostFacts made;
    made.step(0, 1000, true);
    made.step(1000, 2000);
    const auto load = [](int64_t enter_ns, int32_t step) {
        return in_step(other(CallKind::load, kNoLane, kNoTarget, enter_ns, enter_ns + 50), step);
    };
    Written written;
    all_of(make_load_part(made.facts), made, {load(0, kNoStep), load(100, 0), load(1100, 1)}, written);
    CHECK(written.ask("SELECT * FROM load_stat") == "7 3 150 1 50");
    made.facts.are_slices = true;
    Written slices;
    all_of(make_load_part(made.facts), made, {load(1100, 1)}, slices);
    CHECK(slices.ask("SELECT * FROM load_stat") == "7 1 50 - -");
}

TEST_CASE("calls by name: kernels by their shape's, polls by how many a row stands for", "[api_part]") {
    HostFacts made;
    made.kernel("a");
    made.made.run("INSERT INTO shape (id, handle_id, api_id) VALUES (0, 1, 5)");
    Call polls = by(sync_on(50, 500, 530), kQuery);
    polls.detail = 6;
    Written written;
    all_of(make_api_part(made.facts), made,
           {kernel(launch(0, 0, 10), 0), kernel(launch(0, 20, 40), 0), kernel(launch(0, 50, 80), 0), polls},
           written);
    CHECK(written.ask("SELECT calls, sum_ns, min_ns, max_ns, p50_ns FROM api_stat"
                      " WHERE api = 'cuLaunchKernel'") == "3 60 10 30 20");
    CHECK(written.ask("SELECT calls, sum_ns, rows FROM api_stat WHERE api = 'cuStreamQuery'") == "6 30 1");
}

TEST_CASE("calls of the whole run come from the totals", "[api_part]") {
    HostFacts made;
    made.total("kind, api_id, stream_id", "'launch', 5, 1", 100, 500);
    made.total("kind, api_id, stream_id", "'launch', 5, 2", 10, 700);
    made.total("kind, api_id, stream_id", "'launch_device', 5, 2", 10, 700);
    Written written;
    all_of(make_api_part(made.facts), made, {by(launch(0, 0, 10), kLaunchApi)}, written);
    CHECK(written.ask("SELECT calls, sum_ns, min_ns, max_ns, rows FROM api_stat") == "110 1200 1 700 1");
}

//  thread   |── outer 1 ───────────────|
//              |─ inner 2 ─|
//  launches   a      b         c
//  GPU           ▒a▒▒     ▒b▒      ▒▒c▒▒        idle: 5 and 10
//               10  20    25 30    40  50
TEST_CASE("an operation is of every range that was open when it was launched", "[open_ranges]") {
    OpenRanges ranges(1);
    const OpenRanges::Name outer = {kDefaultDomain, 1}, inner = {kDefaultDomain, 2};
    ranges.push(1, outer);
    const int32_t a = ranges.launched(1);
    ranges.push(1, inner);
    const int32_t b = ranges.launched(1);
    ranges.pop(1, inner);
    const int32_t c = ranges.launched(1);
    ranges.pop(1, outer);
    CHECK(ranges.launched(1) == -1);
    CHECK(ranges.launched(2) == -1);
    CHECK(ranges.sums().empty());  // all of it is still to run
    ranges.ran(a, 0, 10, 20);
    ranges.ran(b, 0, 25, 30);
    ranges.ran(c, 0, 40, 50);
    const RangeSums all = ranges.sums().at({0, outer}), part = ranges.sums().at({0, inner});
    CHECK((all.ranges == 1 && all.operations == 3 && all.timed == 3 && all.sum_ns == 25));
    CHECK((all.whole == 1 && all.span_ns == 40 && all.idle_ns == 15));
    CHECK((part.operations == 1 && part.sum_ns == 5 && part.span_ns == 5 && part.idle_ns == 0));
}

TEST_CASE("what others run is no idle time of a range, and what has no times makes it unknown",
          "[open_ranges]") {
    OpenRanges ranges(1);
    const OpenRanges::Name name = {kDefaultDomain, 1};
    const auto launched_in = [&] {
        ranges.push(1, name);
        const int32_t first = ranges.launched(1), second = ranges.launched(1);
        ranges.pop(1, name);
        return std::pair(first, second);
    };
    const auto [a, b] = launched_in();
    ranges.ran(a, 0, 0, 10);
    ranges.ran(-1, 0, 12, 18);  // of nobody's range
    ranges.ran(b, 0, 20, 30);
    CHECK(ranges.sums().at({0, name}).idle_ns == 4);
    const auto [c, d] = launched_in();
    ranges.ran(c, 0, 40, 50);
    ranges.untimed(-1, 0);
    ranges.ran(d, 0, 60, 70);
    const RangeSums sums = ranges.sums().at({0, name});
    CHECK((sums.ranges == 2 && sums.whole == 1 && sums.idle_ns == 4));
    CHECK((sums.operations == 4 && sums.sum_ns == 40));
}

TEST_CASE("a range in one of the same name is that one", "[open_ranges]") {
    OpenRanges ranges(1);
    const OpenRanges::Name name = {kDefaultDomain, 1}, other = {5, 9};
    ranges.push(1, name);
    ranges.push(1, name);
    ranges.ran(ranges.launched(1), 0, 0, 10);
    ranges.pop(1, name);
    ranges.push(1, other);
    ranges.pop(1, name);  // the outer one ends first: domains overlap as they like
    ranges.ran(ranges.launched(1), 0, 10, 20);
    ranges.close_all();
    CHECK(ranges.sums().at({0, name}).sum_ns == 10);
    CHECK(ranges.sums().at({0, name}).ranges == 1);
    CHECK(ranges.sums().at({0, other}).sum_ns == 10);
    ranges.pop(1, name);  // of one that began before recording did
    CHECK(ranges.launched(1) == -1);
}

}  // namespace host_parts_test
