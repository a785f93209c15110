// Launch latencies, queue depth and runway, worked out by hand. A launch call takes 4 us; on an empty queue
// work starts 8 us after the call was entered.
#include "analysis/run/parts/own_parts.h"
#include "made_facts.h"

#include <catch2/catch.hpp>

namespace launch_part_test {

using namespace made;

namespace {

std::string stat(const Written& written, const std::string& columns, int stream = 1, int64_t gpu = kGpu) {
    return written.ask("SELECT " + columns + " FROM launch_stat WHERE stream_id = " + std::to_string(stream) +
                       " AND gpu_id = " + std::to_string(gpu));
}
Call timed(int32_t lane, int64_t enter_ns, int64_t start_ns, int64_t end_ns) {
    return ran(launch(lane, enter_ns, enter_ns + 4000), start_ns, end_ns);
}

}  // namespace

//  us        0    10   20   30   40        108  119  130      200
//  host      L1   L2   L3   L4                                L5
//  stream 1    ████████1█████████████████████ ██2█ ██3██      █5███   5: stamps say 10 ns before it was asked
//  for stream 2                   ███4███
TEST_CASE("latencies count from when the launch was entered and its stream was free", "[launch_part]") {
    MadeFacts made;
    Written written;
    all_of(
        make_launch_part(made.facts), made,
        {timed(0, 0, 8000, 108'000), timed(0, 10'000, 109'000, 119'000), timed(0, 20'000, 120'000, 130'000),
         timed(1, 30'000, 38'000, 48'000), timed(0, 200'000, 199'990, 210'000)},
        written);
    CHECK(stat(written, "count, api_sum_ns, timed, on_empty, behind, negative") == "4 16000 4 2 2 1");
    CHECK(stat(written, "api_p50_ns, latency_p50_ns, latency_p95_ns, behind_p50_ns") == "4000 -10 8000 1000");
    // At L1 0, L2 0 (1 runs), L3 1 (2 of 10 us waits), L5 0.
    CHECK(stat(written, "depth_p50, depth_max, runway_p5_ns") == "0 1 0");
    CHECK(written.ask("SELECT sum(sum_ns) FROM histogram WHERE what = 'runway' AND stream_id = 1") ==
          "10000");
    // Shorter than 16 us: 2, 3 and 5, of 10, 10 and 10.01.
    CHECK(stat(written, "small, small_ns, full_queue") == "3 30010 0");
    // The GPU was busy, the stream was not: neither. 2 and 3 wait on the GPU.
    CHECK(stat(written, "timed, on_empty, behind, latency_p50_ns, depth_max, runway_p5_ns", 2) ==
          "1 0 0 - 2 20000");
}

//  host      L1                  L2 at 19.93              L3 at 39.93
//  stream       ███████1███████20    ██2██             30█4█40   on the other stream
//  known                     ± 100 ns
TEST_CASE("what ended as a launch was entered, as far as the estimates tell, was over", "[launch_part]") {
    const auto found = [](int64_t likely_ns) {
        MadeFacts made;
        Written written;
        std::vector<Call> calls = {timed(0, 0, 8000, 20'000), timed(0, 19'930, 27'930, 29'000),
                                   timed(1, 22'000, 30'000, 40'000), timed(0, 39'930, 47'930, 60'000)};
        for (Call& call : calls) call.times.likely_ns = likely_ns;
        all_of(make_launch_part(made.facts), made, calls, written);
        return stat(written, "timed, on_empty, behind, latency_p50_ns, latency_p95_ns, behind_p50_ns");
    };
    CHECK(found(100) == "3 3 0 8000 8000 -");
    CHECK(found(70) == "3 3 0 8000 8000 -");
    // 2 is behind 1, by its end; 3 has its stream for itself and the GPU not: neither.
    CHECK(found(69) == "3 1 1 8000 8000 7930");
}

//  host            L2 at 16             that is half of a latency before 1 ends
//  stream     ███████1███████20  █2█
TEST_CASE("a GPU that is busy for longer than half a latency is not empty, whatever is not known",
          "[launch_part]") {
    const auto found = [](int64_t enter_ns) {
        MadeFacts made;
        Written written;
        Call last = timed(0, enter_ns, 25'000, 29'000);
        last.times.likely_ns = 524'288;
        all_of(make_launch_part(made.facts), made, {timed(0, 0, 8000, 20'000), last}, written);
        return stat(written, "timed, on_empty, behind");
    };
    CHECK(found(16'000) == "2 2 0");
    CHECK(found(15'999) == "2 1 1");
}

//  host       [L1 loads code          ]   L2          L3
//  known      begins about there ± 30 us      ± 1 us
TEST_CASE("a launch of which it is not known when it began tells no latency", "[launch_part]") {
    MadeFacts made;
    Written written;
    std::vector<Call> calls = {ran(launch(0, 0, 60'000), 30'000, 61'000), timed(0, 100'000, 108'000, 110'000),
                               timed(0, 200'000, 208'000, 210'000)};
    calls[0].times.likely_ns = 30'000;
    calls[1].times.likely_ns = calls[2].times.likely_ns = 1000;
    all_of(make_launch_part(made.facts), made, calls, written);
    CHECK(stat(written, "timed, on_empty, latency_p50_ns, latency_p95_ns") == "3 3 8000 8000");
}

TEST_CASE("an operation that began long before its launch tells no latency", "[launch_part]") {
    MadeFacts made;
    Written written;
    constexpr int64_t kJumpNs = 200'000;
    std::vector<Call> calls;
    for (int64_t i = 0; i < 3; ++i) {
        const int64_t at_ns = kJumpNs + 20'000 * i, jump_ns = i < 2 ? kJumpNs : 0;
        calls.push_back(timed(0, at_ns, at_ns + 8000 - jump_ns, at_ns + 10'000 - jump_ns));
    }
    all_of(make_launch_part(made.facts), made, calls, written);
    CHECK(stat(written, "timed, negative, latency_p50_ns, latency_p95_ns") == "3 2 8000 8000");
}

//  GPU 1      ████████1█████20|record e
//  GPU 0      wait e, L2 at 19.95     ██2██
TEST_CASE("an event that was there as the launch was entered, as far as the estimates tell, delays nothing",
          "[launch_part]") {
    const auto found = [](int64_t likely_ns) {
        MadeFacts made(2, 1);
        Written written;
        Call last = timed(0, 19'950, 27'950, 60'000);
        last.times.likely_ns = likely_ns;
        all_of(make_launch_part(made.facts), made,
               {timed(1, 0, 8000, 20'000), other(CallKind::record, 1, 77, 5000, 6000),
                other(CallKind::wait, 0, 77, 7000, 8000), last},
               written);
        return stat(written, "timed, on_empty, behind");
    };
    CHECK(found(50) == "1 1 0");
    CHECK(found(49) == "1 0 0");
}

//  GPU 1      ████████1█████|record e
//  GPU 0                 wait e, L2 |██2██        L2 found its GPU empty, but not free to begin
TEST_CASE("a launch that waits for another GPU is not on an empty queue", "[launch_part]") {
    MadeFacts made(2, 1);
    Written written;
    all_of(make_launch_part(made.facts), made,
           {timed(1, 0, 8000, 500'000), other(CallKind::record, 1, 77, 5000, 6000),
            other(CallKind::wait, 0, 77, 7000, 8000), timed(0, 10'000, 500'010, 600'000)},
           written);
    CHECK(stat(written, "timed, on_empty, behind") == "1 0 0");
    CHECK(stat(written, "timed, on_empty, behind", 2, kGpu + 1) == "1 1 0");
}

//  GPU 1      ██1██|record e                      e was over when L2 was entered
//  GPU 0              wait e, L2   ██2██
TEST_CASE("an event that is over delays nothing", "[launch_part]") {
    MadeFacts made(2, 1);
    Written written;
    all_of(make_launch_part(made.facts), made,
           {timed(1, 0, 8000, 9000), other(CallKind::record, 1, 77, 5000, 6000),
            other(CallKind::wait, 0, 77, 7000, 8000), timed(0, 10'000, 18'000, 60'000)},
           written);
    CHECK(stat(written, "timed, on_empty, latency_p50_ns") == "1 1 8000");
}

//  legacy     ████1████
//  joins                ██2██       2 waited for 1 although it is in another stream
TEST_CASE("streams that join the legacy one are behind it", "[launch_part]") {
    MadeFacts made;
    made.facts.lanes[0].legacy = true;
    made.facts.lanes[1].joins_legacy = true;
    Written written;
    all_of(make_launch_part(made.facts), made,
           {timed(0, 0, 8000, 108'000), timed(1, 10'000, 110'000, 120'000)}, written);
    CHECK(stat(written, "on_empty, behind, behind_p50_ns", 2) == "0 1 2000");
}

//  joins      ████1████
//  legacy               ██2██
TEST_CASE("the legacy stream is behind those that join it", "[launch_part]") {
    MadeFacts made;
    made.facts.lanes[0].legacy = true;
    made.facts.lanes[1].joins_legacy = true;
    Written written;
    all_of(make_launch_part(made.facts), made,
           {timed(1, 0, 8000, 108'000), timed(0, 10'000, 111'000, 120'000)}, written);
    CHECK(stat(written, "on_empty, behind, behind_p50_ns", 1) == "0 1 3000");
}

//  host       L1           L2       L2 is entered in the instant in which 1 starts, L3 as 2 ends
//  stream                  █1█2█
TEST_CASE("what starts as a call is entered is not pending, what ends is not there", "[launch_part]") {
    MadeFacts made;
    Written written;
    all_of(make_launch_part(made.facts), made,
           {timed(0, 0, 8000, 10'000), timed(0, 8000, 16'000, 20'000), timed(0, 20'000, 28'000, 30'000)},
           written);
    CHECK(stat(written, "depth_max, on_empty, behind") == "0 2 1");
}

//  piece             |────────────────────────
//  stream     ████1██████|   ██2██              1 ran on into the piece; it does not count, 2 is behind it
TEST_CASE("what was launched before the piece is in the queue and not counted", "[launch_part]") {
    MadeFacts made;
    auto part = make_launch_part(made.facts);
    give(*part, piece(1, 100'000), {timed(0, 0, 8000, 150'000)}, {timed(0, 120'000, 151'000, 170'000)});
    for (const Call& call : {timed(0, 0, 8000, 150'000), timed(0, 120'000, 151'000, 170'000)})
        part->see(call);
    Written written;
    part->finish(written.run());
    CHECK(stat(written, "count, timed, on_empty, behind, behind_p50_ns") == "2 1 0 1 1000");
}

TEST_CASE("where a GPU is not known in a piece nothing is said of it", "[launch_part]") {
    MadeFacts made;
    auto part = make_launch_part(made.facts);
    const Call call = timed(0, 5000, 13'000, 20'000);
    part->see(call);
    TimedPiece half = piece(1);
    half.known[0] = {50'000, 100'000};
    give(*part, half, {}, {call});
    Written written;
    part->finish(written.run());
    CHECK(stat(written, "count, timed, depth_max, latency_p50_ns") == "1 0 - -");
}

// Without times of its own an operation hides whether the GPU was empty, until one behind it has some.
TEST_CASE("an operation without times makes the queue unknown", "[launch_part]") {
    MadeFacts made;
    Written written;
    all_of(make_launch_part(made.facts), made,
           {launch(0, 0, 4000), timed(1, 100'000, 108'000, 110'000), timed(0, 200'000, 208'000, 210'000),
            timed(1, 300'000, 308'000, 310'000)},
           written);
    CHECK(stat(written, "count, timed, on_empty") == "2 1 0");
    CHECK(stat(written, "timed, on_empty, latency_p50_ns", 2) == "2 1 8000");
}

//  host      L1 L2            L3
//  stream         ▒▒▒▒▒▒▒ ██1██2█  ██3█      ▒ whose call nobody recorded
TEST_CASE("what ran before the recording began kept the GPU, wherever it is told", "[launch_part]") {
    const auto found = [](const char* meta, int64_t unseen_ns) {
        MadeFacts made;
        made.made.run("INSERT INTO meta VALUES " + std::string(meta));
        Call unseen = ran(launch(1, unseen_ns, unseen_ns), unseen_ns, unseen_ns + 10'000);
        unseen.thread_id = 0;
        std::vector<Call> calls = {timed(0, 0, 90'000, 95'000), timed(0, 10'000, 95'000, 100'000),
                                   timed(0, 200'000, 208'000, 210'000), unseen};
        std::ranges::stable_sort(calls, {}, &Call::enter_ns);
        Written written;
        all_of(make_launch_part(made.facts), made, calls, written);
        return stat(written, "timed, on_empty, latency_p95_ns");
    };
    CHECK(found("('host', 'made')", 150'000) == "3 2 90000");
    CHECK(found("('host', 'made')", 80'000) == "3 1 8000");
    CHECK(found("('host', 'made')", 204'000) == "3 1 90000");
    // A profiler's first: what it does not tell may have run.
    CHECK(found("('source', 'kineto')", 150'000) == "3 1 8000");
    CHECK(found("('source', 'kineto'), ('exported_by', 'gpushim')", 150'000) == "3 2 90000");
}

TEST_CASE("a call that takes ten times as long while 400 operations wait found the queue full",
          "[launch_part]") {
    MadeFacts made;
    std::vector<Call> calls;
    const auto queued = [&](int64_t enter_ns, int64_t cost_ns) {
        const int64_t start_ns = 1'000'000'000 + 1000 * static_cast<int64_t>(calls.size());
        calls.push_back(ran(launch(0, enter_ns, enter_ns + cost_ns), start_ns, start_ns + 1000));
    };
    queued(0, 90'000);  // long, but nothing waits
    for (int64_t i = 1; i < 399; ++i) queued(i * 100'000, 4000);
    queued(200'000'000, 50'000);  // the 400th: 399 are outstanding
    queued(201'000'000, 40'000);  // not longer than ten times
    queued(202'000'000, 40'001);
    Written written;
    all_of(make_launch_part(made.facts), made, calls, written);
    CHECK(stat(written, "full_queue, depth_max") == "1 401");
}

TEST_CASE("counts are of the whole run where the totals have it", "[launch_part]") {
    MadeFacts made(1, 2);
    made.total("kind, stream_id", "'launch', 1", 1000, 4'000'000);
    made.total("kind, stream_id", "'graph_launch', 1", 10, 50'000);
    made.total("kind, stream_id", "'launch_device', 1", 1000, 9'000'000);
    made.total("kind, stream_id", "'launch', NULL", 5, 20'000);
    for (const int flag : {1, 2, 4})  // captured, failed, unfinished
        made.total("kind, stream_id", "'launch', 1", 7, 70, 0, flag);
    made.total("kind, stream_id", "'launch', 1", 100, 400'000, 0, 8);  // recovered
    Written written;
    all_of(make_launch_part(made.facts), made, {timed(0, 0, 8000, 108'000)}, written);
    CHECK(stat(written, "count, api_sum_ns, timed") == "1110 4450000 1");
    CHECK(stat(written, "count, timed", -1) == "5 0");  // of which stream is not told
}

TEST_CASE("copies are no launches, but keep the GPU busy", "[launch_part]") {
    MadeFacts made;
    Written written;
    all_of(make_launch_part(made.facts), made,
           {of_kind(timed(0, 0, 8000, 108'000), OperationClass::h2d, 4096),
            of_kind(timed(1, 50'000, 58'000, 60'000), OperationClass::graph)},
           written);
    CHECK(stat(written, "count") == "no row");
    // A graph is no small kernel.
    CHECK(stat(written, "count, timed, on_empty, small", 2) == "1 1 0 0");
}

TEST_CASE("without a known latency nothing is said of small kernels", "[launch_part]") {
    MadeFacts made;
    made.facts.gpus[0].idle.latency_ns = 0;
    Written written;
    all_of(make_launch_part(made.facts), made, {timed(0, 0, 8000, 9000)}, written);
    CHECK(stat(written, "timed, small, small_ns") == "1 - -");
}

TEST_CASE("launches in steps are told from others", "[launch_part]") {
    MadeFacts made;
    made.step(100'000, 200'000);
    Written written;
    all_of(make_launch_part(made.facts), made,
           {timed(0, 0, 8000, 9000), in_step(timed(0, 110'000, 118'000, 119'000), 0)}, written);
    CHECK(stat(written, "count, in_steps") == "2 1");
}

}  // namespace launch_part_test
