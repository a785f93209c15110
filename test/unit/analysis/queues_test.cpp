// What GPUs had to do when a launch was entered, from calls drawn by hand.
#include "analysis/run/parts/queues.h"

#include <algorithm>
#include <random>
#include <vector>

#include "made_facts.h"

#include <catch2/catch.hpp>

namespace queues_test {

using namespace made;

namespace {

Call timed(int32_t lane, int64_t enter_ns, int64_t start_ns, int64_t end_ns) {
    return ran(launch(lane, enter_ns, enter_ns + 4), start_ns, end_ns);
}

}  // namespace

//  asked            35      60        95    130
//  stream 0  10████1████40                             on GPU 0, as stream 1
//            |    2 waits |50██████2██████90
//  stream 1                    55█████████3██████120
TEST_CASE("what runs, what waits, and when all is over", "[queues]") {
    const MadeFacts made;
    Queues queues(made.facts);
    for (const Call& call : {timed(0, 0, 10, 40), timed(0, 5, 50, 90)}) queues.add(call);
    QueueState state = queues.at(0, 35);
    CHECK((state.gpu_known && state.stream_known));
    CHECK((state.outstanding == 2 && state.pending == 1 && state.runway_ns == 40));
    CHECK((state.gpu_free_ns == 90 && state.stream_free_ns == 90 && state.may_start_ns == 90));
    queues.add(timed(1, 45, 55, 120));
    state = queues.at(0, 60);
    CHECK((state.outstanding == 2 && state.pending == 0 && state.runway_ns == 0));
    CHECK((state.gpu_free_ns == 120 && state.stream_free_ns == 90));
    state = queues.at(1, 95);
    CHECK((state.outstanding == 1 && state.stream_free_ns == 120));
    state = queues.at(0, 130);
    CHECK((state.outstanding == 0 && state.gpu_free_ns == 120 && state.stream_free_ns == 90));
}

//  stream 0  10███████1███████80|record e
//  stream 1       wait e, then nothing may start before 80
TEST_CASE("a stream that waits for an event may start when it is there", "[queues]") {
    const MadeFacts made;
    Queues queues(made.facts);
    queues.add(timed(0, 0, 10, 80));
    queues.add(other(CallKind::record, 0, 77, 5, 6));
    queues.add(other(CallKind::wait, 1, 77, 7, 8));
    const QueueState state = queues.at(1, 20);
    CHECK((state.stream_free_ns == 0 && state.may_start_ns == 80));
    queues.add(other(CallKind::wait, 1, 78, 21, 22));  // of which nothing is known
    CHECK(queues.at(1, 23).may_start_ns == 80);
    queues.clear();
    CHECK(queues.at(1, 24).may_start_ns == 0);
}

TEST_CASE("one without times makes its stream unknown until the next with some, and its GPU", "[queues]") {
    const MadeFacts made(2, 2);
    Queues queues(made.facts);
    queues.add(launch(0, 0, 4));
    CHECK((!queues.at(0, 5).stream_known && !queues.at(0, 5).gpu_known));
    CHECK((queues.at(1, 5).stream_known && !queues.at(1, 5).gpu_known));
    CHECK((queues.at(2, 5).stream_known && queues.at(2, 5).gpu_known));
    queues.add(timed(0, 10, 20, 30));
    CHECK((queues.at(1, 15).gpu_known && queues.at(0, 15).outstanding == 1));
    CHECK(!queues.at(kNoLane, 15).gpu_known);
    Call copy = launch(0, 40, 80);
    copy.completes = true;
    queues.add(copy);
    CHECK((queues.at(0, 90).stream_known && queues.at(1, 90).gpu_known));
}

// So many that what has ended is forgotten while others wait.
TEST_CASE("queues of many operations are what each of these, asked by itself, says", "[queues][random]") {
    const MadeFacts made;
    Queues queues(made.facts);
    std::mt19937 random(7);
    const auto up_to = [&](int64_t most) {
        return static_cast<int64_t>(random() % static_cast<uint64_t>(most + 1));
    };
    std::vector<Interval> all;
    int64_t free_ns[2] = {0, 0}, now_ns = 0;
    for (int i = 0; i < 2000; ++i) {
        const auto lane = static_cast<int32_t>(up_to(1));
        now_ns += i % 500 < 300 ? up_to(10) : up_to(120);  // ahead of the GPU, and behind it
        const auto count = [&](auto is_counted) { return std::count_if(all.begin(), all.end(), is_counted); };
        const QueueState state = queues.at(lane, now_ns);
        int64_t runway_ns = 0;
        for (const Interval& one : all)
            if (one.start_ns > now_ns) runway_ns += one.length_ns();
        REQUIRE(state.outstanding == count([&](const Interval& one) { return one.end_ns > now_ns; }));
        REQUIRE(state.pending == count([&](const Interval& one) { return one.start_ns > now_ns; }));
        REQUIRE(state.runway_ns == runway_ns);
        const int64_t start_ns = std::max(now_ns, free_ns[lane]) + up_to(5);
        free_ns[lane] = start_ns + up_to(60);
        all.push_back({start_ns, free_ns[lane]});
        queues.add(timed(lane, now_ns, start_ns, free_ns[lane]));
    }
}

// Stream 0 is the legacy one of its context, which 1 joins; 2 is by itself.
TEST_CASE("queues that were cleared are as new ones", "[queues][random]") {
    MadeFacts made(1, 3);
    made.facts.lanes[0].legacy = true;
    made.facts.lanes[1].joins_legacy = true;
    Queues used(made.facts);
    std::mt19937 random(3);
    const auto up_to = [&](int64_t most) {
        return static_cast<int64_t>(random() % static_cast<uint64_t>(most + 1));
    };
    for (int round = 0; round < 20; ++round) {
        Queues fresh(made.facts);
        used.clear();
        int64_t now_ns = 0;
        for (int i = 0; i < 300; ++i) {
            const auto lane = static_cast<int32_t>(up_to(2));
            now_ns += up_to(30);
            const QueueState a = used.at(lane, now_ns), b = fresh.at(lane, now_ns);
            REQUIRE((a.gpu_known == b.gpu_known && a.stream_known == b.stream_known));
            REQUIRE((a.outstanding == b.outstanding && a.pending == b.pending && a.runway_ns == b.runway_ns));
            REQUIRE((a.gpu_free_ns == b.gpu_free_ns && a.stream_free_ns == b.stream_free_ns &&
                     a.may_start_ns == b.may_start_ns));
            const int64_t what = up_to(20), start_ns = now_ns + up_to(200);
            Call call = timed(lane, now_ns, start_ns, start_ns + up_to(60));
            if (what < 2)
                call = other(what == 0 ? CallKind::record : CallKind::wait, lane, 77, now_ns, now_ns + 1);
            if (what == 2) call = launch(lane, now_ns, now_ns + 4);
            used.add(call);
            fresh.add(call);
        }
    }
}

//  legacy 0  10████████60         joins 1        |110███130      what is in one is over before the other's
//  begins
TEST_CASE("the legacy stream is free when those that join it are, and they when it is", "[queues]") {
    MadeFacts made(1, 3);
    made.facts.lanes[0].legacy = true;
    made.facts.lanes[1].joins_legacy = true;
    Queues queues(made.facts);
    queues.add(timed(0, 0, 10, 60));
    CHECK(queues.at(1, 5).stream_free_ns == 60);
    CHECK(queues.at(2, 5).stream_free_ns == 0);
    queues.add(timed(1, 6, 110, 130));
    CHECK(queues.at(0, 7).stream_free_ns == 130);
    CHECK(queues.at(2, 7).stream_free_ns == 0);
}

}  // namespace queues_test
