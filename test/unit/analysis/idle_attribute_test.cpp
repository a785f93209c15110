// Every cause of idle time from a timeline made by hand. Times in microseconds; l is 5.
#include "analysis/idle/attribute.h"

#include "idle_scene.h"

#include <catch2/catch.hpp>

namespace idle_attribute_test {

using namespace idle_scene;

//  GPU     ████|a=100                                                         b=200|███
//  asked        95                                                              195
//  thread  ─sync──┐105 110┌staging┐120 125┌alloc┐130 135┌comm┐145 150┌gpu 1┐160 165┌L┐170   195┌N┐199
TEST_CASE("the host part is what the launching thread was in, one latency earlier", "[idle]") {
    Scene scene;
    scene.call(What::sync, 60, 105).call(What::staging, 110, 120).call(What::alloc_or_load, 125, 130);
    scene.call(What::comm, 135, 145).call(What::launch, 150, 160, 1).launch(165, 170).launch(195, 199);
    scene.gap_before(100, 200, 195, 199);
    CHECK(scene.pieces() == Pieces{is(Cause::sync, 100, 110), is(Cause::host_unknown, 110, 115),
                                   is(Cause::copy_staging, 115, 125), is(Cause::host_unknown, 125, 130),
                                   is(Cause::alloc_or_load, 130, 135), is(Cause::host_unknown, 135, 140),
                                   is(Cause::comm_host, 140, 150), is(Cause::host_unknown, 150, 155),
                                   is(Cause::launching_other_gpu, 155, 165),
                                   is(Cause::host_unknown, 165, 170), is(Cause::launch_bound, 170, 175),
                                   is(Cause::between_launches, 175, 200)});
}

//  thread  ═sync of gpu 1═105 110══sync of gpu 0══150 160══sync of who knows══180 195┌N┐199
TEST_CASE("a wait for another GPU is told from one for this", "[idle]") {
    Scene scene;
    scene.call(What::sync, 60, 105, 1).call(What::sync, 110, 150, 0).call(What::sync, 160, 180);
    scene.gap_before(100, 204, 195, 199);
    CHECK(scene.pieces() == Pieces{is(Cause::sync_other_gpu, 100, 110), is(Cause::host_unknown, 110, 115),
                                   is(Cause::sync, 115, 155), is(Cause::host_unknown, 155, 165),
                                   is(Cause::sync, 165, 185), is(Cause::host_unknown, 185, 200),
                                   is(Cause::launch_call, 200, 204)});
}

//  thread              N════════2040 us═══════        a launch that loads its code
//  GPU     ████████|100                          2045███
TEST_CASE("a launch that takes as long as no launch does is a slow call", "[idle]") {
    Scene scene;
    scene.gap_before(100, 2145, 105, 2140);
    CHECK(scene.pieces() == Pieces{is(Cause::host_unknown, 100, 110), is(Cause::slow_call, 110, 2145)});
    scene.gap_before(100, 2100, 105, 2140);  // 1995 us up to its start: it waits for the kernel itself
    CHECK(scene.pieces() == Pieces{is(Cause::host_unknown, 100, 110), is(Cause::launch_call, 110, 2100)});
    scene.gap_before(100, 2145, 105, 2140);
    scene.gap.next->is_copy_h2d = true;
    CHECK(scene.pieces() == Pieces{is(Cause::host_unknown, 100, 110), is(Cause::launch_call, 110, 2145)});
}

//  thread  ┌────operator────┐2100  ┌op┐L      an operator that works on the host's tensors, and one that
//  launches GPU     █|100                             2150███
TEST_CASE("an operator of a millisecond that calls nothing computes on the processor", "[idle]") {
    const auto pieces_of = [](int64_t from_us, int64_t until_us, int64_t next_us) {
        Scene scene;
        scene.call(What::dispatching, from_us, until_us).call(What::dispatching, next_us, 2145);
        scene.gap_before(100, 2150, 2145, 2149);
        return scene.pieces();
    };
    CHECK(pieces_of(0, 2100, 2110) == Pieces{is(Cause::operator_cpu, 100, 2105),
                                             is(Cause::python, 2105, 2115),
                                             is(Cause::framework, 2115, 2150)});
    CHECK(pieces_of(1102, 2100, 2110).at(1) == is(Cause::framework, 1107, 2105));  // shorter
    CHECK(pieces_of(0, 1500, 1510).at(0) == is(Cause::operator_cpu, 100, 1505));
    Scene began;  // longer than a millisecond, of which less is in the gap
    began.call(What::dispatching, 0, 1500).call(What::dispatching, 1510, 2145);
    began.gap_before(800, 2150, 2145, 2149);
    CHECK(began.pieces().at(0) == is(Cause::operator_cpu, 800, 1505));
    Scene after;  // behind a launch that was over before the gap: it may be the operator's own
    after.call(What::launch, 40, 60).call(What::dispatching, 60, 2100).call(What::dispatching, 2110, 2145);
    after.gap_before(100, 2150, 2145, 2149);
    CHECK(after.pieces().at(0) == is(Cause::framework, 100, 2105));
    Scene loads;  // its own launch follows: a library was loaded
    loads.call(What::dispatching, 0, 2145).gap_before(100, 2150, 2145, 2149);
    CHECK(loads.pieces() == Pieces{is(Cause::framework, 100, 2150)});
    Scene reads;  // behind its own call
    reads.call(What::sync, 50, 300).call(What::dispatching, 300, 2100).gap_before(100, 2150, 2145, 2149);
    CHECK(reads.pieces().at(1) == is(Cause::framework, 305, 2105));
}

//  thread   ┌──────────operator──────────┐2100  ┌op┐L
//  another        L(GPU 1)                              a pool that launches for all GPUs
TEST_CASE("an operator in which other threads launch does not compute", "[idle]") {
    const auto first_piece = [](What what, int64_t from_us, int64_t until_us) {
        Scene scene;
        scene.call(What::dispatching, 0, 2100).call(What::dispatching, 2110, 2145);
        scene.lines[2].add(HostCall{what, from_us * kUs, until_us * kUs, 1});
        return scene.gap_before(100, 2150, 2145, 2149).pieces().at(0);
    };
    CHECK(first_piece(What::launch, 500, 510) == is(Cause::framework, 100, 2105));
    CHECK(first_piece(What::launch, 2100, 2120) == is(Cause::operator_cpu, 100, 2105));  // behind it
    CHECK(first_piece(What::alloc_or_load, 500, 510) == is(Cause::operator_cpu, 100, 2105));
}

//  thread  L─┐104   L─┐114        every 10
//  GPU        105███108  115███   3 long, 5 after its launch
TEST_CASE("a loop that launches too slowly is launch bound, not latency", "[idle]") {
    Scene scene;
    scene.launch(100, 104).launch(110, 114);
    scene.gap_before(108, 115, 110, 114);
    CHECK(scene.pieces() == Pieces{is(Cause::launch_bound, 108, 115)});
    CHECK_FALSE(scene.ask().drained_by_sync);
    // It started later than the median says: in its call, behind it, far behind it.
    scene.gap_before(108, 116, 110, 114);
    CHECK(scene.pieces() == Pieces{is(Cause::launch_bound, 108, 115), is(Cause::launch_call, 115, 116)});
    scene.gap_before(108, 120, 110, 114);
    CHECK(scene.pieces() == Pieces{is(Cause::launch_bound, 108, 115), is(Cause::launch_call, 115, 119),
                                   is(Cause::launch_latency, 119, 120)});
    scene.gap_before(108, 124, 110, 114);
    CHECK(scene.pieces() == Pieces{is(Cause::launch_bound, 108, 115), is(Cause::launch_call, 115, 119),
                                   is(Cause::device_other, 119, 124)});
    // … and earlier.
    scene.gap_before(108, 113, 110, 114);
    CHECK(scene.pieces() == Pieces{is(Cause::launch_bound, 108, 113)});
}

//  thread  ─L┐64 ──19──83┌other┐84 …┌N   all of it under 20: a loop; under 1 ms: it may well be one.
TEST_CASE("user time between launches is launch bound below 20 us only", "[idle]") {
    const auto between = [](int64_t until_us) {
        Scene scene;
        scene.launch(100, 110).call(What::other_call, 115, 117).launch(until_us, until_us + 3);
        scene.gap_before(116, until_us + 5, until_us, until_us + 3);
        return scene.pieces();
    };
    CHECK(between(129) == Pieces{is(Cause::launch_bound, 116, 134)});
    CHECK(between(130) == Pieces{is(Cause::between_launches, 116, 135)});
    CHECK(between(1109) == Pieces{is(Cause::between_launches, 116, 1114)});
    CHECK(between(1110) == Pieces{is(Cause::host_unknown, 116, 120), is(Cause::host_cpu, 120, 122),
                                  is(Cause::host_unknown, 122, 1115)});
    // Between launches for this GPU: not after a sync, not after a launch for another.
    for (const auto& [what, gpu] : {std::pair(What::sync, kNoGpu), std::pair(What::launch, 1)}) {
        Scene scene;
        scene.call(what, 90, 100, gpu).launch(110, 113).gap_before(105, 115, 110, 113);
        CHECK(scene.pieces() == Pieces{is(Cause::host_unknown, 105, 115)});
    }
}

//  thread  L┐4  6┌────sync─────┐53 ─────runs 60─────113┌L┐117
//  GPU      5██████████████50|                          |118██
TEST_CASE("a loop drained by a sync in each step", "[idle]") {
    Scene scene;
    scene.launch(0, 4).call(What::sync, 6, 53).row(53, 113, 60).launch(113, 117);
    scene.gap_before(50, 118, 113, 117);
    CHECK(scene.pieces() == Pieces{is(Cause::sync, 50, 58), is(Cause::host_cpu, 58, 118)});
    CHECK(scene.ask().drained_by_sync);
    // It returns as the queue runs empty: it has drained it. Before: it has not.
    scene.gap_before(53, 118, 113, 117);
    CHECK(scene.ask().drained_by_sync);
    scene.gap_before(54, 118, 113, 117);
    CHECK_FALSE(scene.ask().drained_by_sync);
    // … unless the clocks are no better than that.
    scene.facts.clock_error_ns = 1 * kUs;
    CHECK(scene.ask().drained_by_sync);
}

//  thread  L┐4  6┌────sync────────┐54   53┌N┐57: by the device's clock it ended 1 us later than by the host's
//  GPU      5██████████████54|                        |60██
TEST_CASE("a sync that ends with its work by another clock has drained the queue", "[idle]") {
    Scene scene;
    scene.launch(0, 4).call(What::sync, 6, 54).launch(53, 57).gap_before(54, 60, 53, 57);
    CHECK_FALSE(scene.ask().drained_by_sync);
    scene.facts.clock_error_ns = 1 * kUs;
    CHECK(scene.ask().drained_by_sync);
}

//  thread  L┐4  N┐9 10┌────sync────────
//  GPU      5██████████50| |60███ N
TEST_CASE("a sync behind the next launch has not drained the queue", "[idle]") {
    Scene scene;
    scene.launch(0, 4).launch(5, 9).call(What::sync, 10, 90).gap_before(50, 52, 5, 9);
    CHECK(scene.pieces() == Pieces{is(Cause::kernel_gap, 50, 52)});
    CHECK_FALSE(scene.ask().drained_by_sync);
}

//  thread  80┌N┐84
//  GPU              ███100| |b ███ N
TEST_CASE("a launch in time: how long it was queued says what it waited for", "[idle]") {
    const auto queued_until = [](int64_t b_us, WaitsFor waits_for = WaitsFor::nothing) {
        return Scene().launch(80, 84).gap_before(100, b_us, 80, 84, waits_for).pieces();
    };
    CHECK(queued_until(103) == Pieces{is(Cause::kernel_gap, 100, 103)});
    CHECK(queued_until(104) == Pieces{is(Cause::launch_latency, 100, 104)});
    CHECK(queued_until(109) == Pieces{is(Cause::launch_latency, 100, 109)});
    CHECK(queued_until(110) == Pieces{is(Cause::device_other, 100, 110)});
    CHECK(queued_until(102, WaitsFor::other_gpu) == Pieces{is(Cause::wait_other_gpu, 100, 102)});
    CHECK(queued_until(300, WaitsFor::host_callback) == Pieces{is(Cause::wait_host_callback, 100, 300)});
}

TEST_CASE("a gap between kernels needs a launch well before it", "[idle]") {
    // Le + l = a: it could have started at a, but was not there before.
    CHECK(Scene().launch(95, 97).gap_before(100, 102, 95, 97).pieces() ==
          Pieces{is(Cause::launch_latency, 100, 102)});
    // The call takes longer than the latency.
    CHECK(Scene().launch(90, 101).gap_before(100, 103, 90, 101).pieces() ==
          Pieces{is(Cause::launch_call, 100, 101), is(Cause::kernel_gap, 101, 103)});
}

//  thread  ──L┐90      110┌N┐112
//  GPU     ████100|    |.5.|..|   waits for another GPU   |150███
TEST_CASE("launched late, then waiting: the wait begins where it could have started", "[idle]") {
    Scene scene;
    scene.launch(80, 90).row(90, 110, 20).launch(110, 112);
    scene.gap_before(100, 150, 110, 112, WaitsFor::other_gpu);
    CHECK(scene.pieces() == Pieces{is(Cause::between_launches, 100, 115), is(Cause::launch_call, 115, 117),
                                   is(Cause::wait_other_gpu, 117, 150)});
}

//  thread  L┐64 ────── blocked 200 ──────264── runs 31 ──295┌H2D┐298
//  GPU     ████100|                                             |300██
TEST_CASE("host time before the input copy is input", "[idle]") {
    Scene scene;
    scene.launch(60, 64).row(64, 295, 31, 0, 7).launch(295, 298).gap_before(100, 300, 295, 298);
    const Pieces host = {is(Cause::host_blocked, 100, 269, 7), is(Cause::between_launches, 269, 300)};
    const Pieces input = {is(Cause::input_wait, 100, 269, 7), is(Cause::input_cpu, 269, 300)};
    CHECK(scene.pieces() == host);
    scene.gap.next->is_copy_h2d = true;
    CHECK(scene.pieces() == host);
    scene.input_copy_at(295);
    CHECK(scene.pieces() == input);
    scene.gap.next->is_copy_h2d = false;
    CHECK(scene.pieces() == host);
}

//  thread  ─L┐64 ─runs 50─114┌other┐116  ?  120┌H2D, staged┐160 ─runs 60─220┌N┐
//  GPU     ██65|                                                            |225██
TEST_CASE("only what lies directly before the input copy is input", "[idle]") {
    Scene scene;
    scene.launch(60, 64).row(64, 114, 50).call(What::other_call, 114, 116).call(What::staging, 120, 160);
    scene.row(160, 220, 60).launch(220, 223).gap_before(65, 225, 220, 223).input_copy_at(120);
    CHECK(scene.pieces() == Pieces{is(Cause::launch_bound, 65, 69), is(Cause::input_cpu, 69, 121),
                                   is(Cause::host_unknown, 121, 125), is(Cause::copy_staging, 125, 165),
                                   is(Cause::host_cpu, 165, 225)});
    // Short enough to be the launch loop, which comes first.
    Scene loop;
    loop.launch(60, 64).launch(74, 78).input_copy_at(74).gap_before(66, 79, 74, 78);
    loop.gap.next->is_copy_h2d = true;
    CHECK(loop.pieces() == Pieces{is(Cause::launch_bound, 66, 79)});
}

//  thread  L┐64 ──blocked 60── ready 40 ─── runs 31 ──195┌N
TEST_CASE("time without a CPU is reported beside the cause it lies in", "[idle]") {
    Scene scene;
    scene.launch(60, 64).row(64, 195, 31, 40).launch(195, 198).gap_before(140, 200, 195, 198);
    const Attributed result = scene.ask();
    CHECK(result.pieces == Pieces{is(Cause::host_blocked, 140, 169), is(Cause::between_launches, 169, 200)});
    CHECK(result.contended == std::vector<Contended>{{Cause::host_blocked, 29 * kUs}});
}

TEST_CASE("gaps of which nothing can be asked have one cause", "[idle]") {
    Scene scene;
    scene.launch(110, 112).gap_before(100, 120, 110, 112);
    scene.facts.clock_error_ns = 10 * kUs;  // half of the gap: still asked
    CHECK(scene.pieces().front().cause != Cause::unresolved);
    scene.facts.clock_error_ns = 10 * kUs + 1;
    CHECK(scene.pieces() == Pieces{is(Cause::unresolved, 100, 120)});
    // The run's clock at its worst says less than the operation's own times.
    scene.gap.next->likely_ns = 3 * kUs;
    CHECK(scene.pieces().front().cause != Cause::unresolved);
    scene.gap.next->likely_ns = 10 * kUs + 1;
    CHECK(scene.pieces() == Pieces{is(Cause::unresolved, 100, 120)});
    scene.gap.next->same_process = false;
    CHECK(scene.pieces() == Pieces{is(Cause::other_process, 100, 120)});
    scene.gap.next.reset();
    CHECK(scene.pieces() == Pieces{is(Cause::tail, 100, 120)});
    scene.gap.until_ns = scene.gap.from_ns;
    CHECK(scene.pieces().empty());
}

//  thread  L┐  N┐90                     the clocks may be 4 apart: N was in the queue by 90 + 4 and 87 + 5 +
//  4 GPU     ███████████████|100 102|N██
TEST_CASE("a gap of what was surely queued is exact, whatever the clocks", "[idle]") {
    Scene scene;
    scene.facts.clock_error_ns = 4 * kUs;
    CHECK(scene.launch(87, 90).gap_before(100, 102, 87, 90).pieces() ==
          Pieces{is(Cause::kernel_gap, 100, 102)});
    // Le + l + 4 is a, then 1 us later than it; Lx + 4 likewise.
    CHECK(scene.gap_before(100, 102, 91, 93).pieces() == Pieces{is(Cause::kernel_gap, 100, 102)});
    CHECK(scene.gap_before(100, 102, 92, 93).pieces() == Pieces{is(Cause::unresolved, 100, 102)});
    CHECK(scene.gap_before(100, 102, 87, 96).pieces() == Pieces{is(Cause::kernel_gap, 100, 102)});
    CHECK(scene.gap_before(100, 102, 87, 97).pieces() == Pieces{is(Cause::unresolved, 100, 102)});
}

//  thread 1  ────────sync────────┐110   (launches nothing of this gap)
//  thread 2  ─runs 100─────────────  110┌N┐112
TEST_CASE("of several threads the one is asked that launched the next operation", "[idle]") {
    Scene scene;
    scene.call(What::sync, 0, 110);
    scene.lines[2].add(HostGap{10 * kUs, 110 * kUs, 100 * kUs});
    scene.lines[2].add(HostCall{What::launch, 110 * kUs, 112 * kUs, 0});
    scene.gap_before(100, 115, 110, 112);
    scene.gap.next->thread = 2;
    CHECK(scene.pieces() == Pieces{is(Cause::host_cpu, 100, 115)});
    CHECK_FALSE(scene.ask().drained_by_sync);
    scene.gap.next->thread = 3;  // of which nothing is known
    CHECK(scene.pieces() == Pieces{is(Cause::host_unknown, 100, 115)});
}

//  pieces   |── sync ──|──── host_cpu ────|
//  steps  |      |      |       |          |
TEST_CASE("pieces are cut where steps begin", "[idle]") {
    const Pieces pieces = {is(Cause::sync, 10, 20), is(Cause::host_cpu, 20, 40)};
    const int64_t steps[] = {5 * kUs, 15 * kUs, 15 * kUs, 20 * kUs, 30 * kUs, 40 * kUs, 50 * kUs};
    CHECK(split_at(pieces, steps) == Pieces{is(Cause::sync, 10, 15), is(Cause::sync, 15, 20),
                                            is(Cause::host_cpu, 20, 30), is(Cause::host_cpu, 30, 40)});
    CHECK(split_at(pieces, {}) == pieces);
}

TEST_CASE("what does not tile is seen", "[idle]") {
    const Pieces pieces = {is(Cause::sync, 10, 20), is(Cause::host_cpu, 20, 40)};
    CHECK(tile(pieces, 10'000, 40'000));
    CHECK_FALSE(tile(pieces, 10'000, 40'001));
    CHECK_FALSE(tile(pieces, 9'999, 40'000));
    CHECK_FALSE(tile(Pieces{is(Cause::sync, 10, 20), is(Cause::host_cpu, 21, 40)}, 10'000, 40'000));
    CHECK_FALSE(tile(Pieces{is(Cause::sync, 10, 20), is(Cause::host_cpu, 20, 20)}, 10'000, 20'000));
}

TEST_CASE("idle time adds up by cause and by group", "[idle]") {
    IdleByCause sums, more;
    add(sums, Pieces{is(Cause::input_wait, 0, 10), is(Cause::input_cpu, 10, 13), is(Cause::tail, 13, 20)});
    add(more, Pieces{is(Cause::input_wait, 0, 1), is(Cause::launch_bound, 1, 3)});
    sums += more;
    CHECK(sums[Cause::input_wait] == 11 * kUs);
    CHECK(sums.of(CauseGroup::input) == 14 * kUs);
    CHECK(sums.of(CauseGroup::launch) == 2 * kUs);
    CHECK(sums.of(CauseGroup::other) == 7 * kUs);
    CHECK(sums.total() == 23 * kUs);
    int64_t groups_ns = 0;
    for (size_t i = 0; i < std::size(kCauseGroups); ++i) groups_ns += sums.of(static_cast<CauseGroup>(i));
    CHECK(groups_ns == sums.total());
    CHECK(std::string(name_of(Cause::wait_other_gpu)) == "wait_other_gpu");
    CHECK(std::string(name_of(group_of(Cause::alloc_or_load))) == "host");
}

//  GPU     ████|a=100                                 b=300|███
//  asked        95                                      295
//  thread  ─sync─┐100 ──────────── row, blocked ─────────┐295 N┌299
//  seen                 150: 7        250: 8, in a loader
TEST_CASE("where the thread was seen in its Python is a part of the cause, or says it", "[idle]") {
    Scene scene;
    scene.call(What::sync, 60, 100).row(100, 295, 0);
    scene.line().add(HostSample{150 * kUs, 7});
    scene.line().add(HostSample{250 * kUs, 8, PythonDoes::loads});
    scene.launch(295, 299).gap_before(100, 300, 295, 299);
    const Attributed answer = scene.ask();
    CHECK(answer.pieces == Pieces{is(Cause::sync, 100, 105), is(Cause::host_blocked, 105, 205),
                                  is(Cause::input_loading, 205, 300)});
    REQUIRE(answer.python.size() == 2);
    CHECK(answer.python[0].cause == Cause::host_blocked);
    CHECK(answer.python[0].line == 7);
    CHECK(answer.python[0].until_ns - answer.python[0].from_ns == 100 * kUs);
    CHECK(answer.python[1].cause == Cause::input_loading);
    CHECK(answer.python[1].until_ns == 300 * kUs);
    CHECK(answer.python[0].samples == 1);
    CHECK(answer.python[1].samples == 1);
}

//  thread  ─sync──┐105 ────────── row, seen once at 150 ──────────┌N
TEST_CASE("what a sample says of the thread is the cause, outside of calls", "[idle]") {
    const auto seen = [](PythonDoes does) {
        Scene scene;
        scene.call(What::sync, 60, 105);
        scene.line().add(HostGap{105 * kUs, 295 * kUs, 0});
        scene.line().add(HostSample{150 * kUs, 7, does});
        scene.launch(295, 299).gap_before(100, 300, 295, 299);
        const Attributed answer = scene.ask();
        REQUIRE(answer.pieces.size() == 2);
        CHECK(answer.pieces[0] == is(Cause::sync, 100, 110));
        CHECK(answer.python.at(0).cause == answer.pieces[1].cause);
        return answer.pieces[1].cause;
    };
    CHECK(seen(PythonDoes::untold) == Cause::host_blocked);
    CHECK(seen(PythonDoes::waits_for_lock) == Cause::interpreter_lock);
    CHECK(seen(PythonDoes::collects_garbage) == Cause::garbage_collection);
    CHECK(seen(PythonDoes::loads) == Cause::input_loading);
    CHECK(seen(PythonDoes::optimizes) == Cause::optimizer);
    CHECK(seen(PythonDoes::calls_back) == Cause::callback);
}

}  // namespace idle_attribute_test
