// How busy, with what, and why not: from calls drawn by hand to the rows of the run database.
#include "analysis/run/busy/busy_part.h"

#include "analysis/run/busy/busy_rows.h"
#include "busy_scene.h"

#include <catch2/catch.hpp>
#include <stdexcept>

namespace busy_part_test {

using namespace busy_scene;

namespace {

const char* const kActivity = "SELECT gpu_id, step, classes, ns FROM activity";
const char* const kGaps =
    "SELECT step, cause, blocked_on, ns FROM gap WHERE gpu_id = 10 ORDER BY step, cause, blocked_on";

struct Scene {
    TraceFacts facts;
    TimedPiece piece;
    std::vector<Call> calls;
    Asked asked;

    std::string ask(const std::string& sql) {
        if (asked.rows("SELECT count(*) FROM activity") == "0") {
            const auto part = make_busy_part(facts);
            give(*part, piece, calls);
            part->finish(asked.run());
        }
        return asked.rows(sql);
    }
};

}  // namespace

//  known        0                                              100
//  stream 0         10████████30              50████70
//  stream 1               20▒▒▒35~~~~40            60████80              comm: waits until 35, then transfers
//  step 7                               |45                 90|
TEST_CASE("every instant is in one row of activity", "[busy_part]") {
    Scene scene = {facts_of(1, 2), piece_of({{0, 100}}, {{7, {45, 90}}}), {}, {}};
    scene.calls = {ran(launch(0, 1, 2), 10, 30),
                   typed(ran(launch(1, 3, 4), 20, 40), OperationClass::comm, 15),
                   ran(launch(0, 5, 6), 50, 70), ran(launch(1, 7, 8), 60, 80)};
    CHECK(scene.ask(kActivity) ==
          "10|-1|0|25, 10|-1|1|10, 10|-1|2|5, 10|-1|4|5, 10|-1|5|10, 10|7|0|15, 10|7|1|30");
    CHECK(scene.ask(
              "SELECT step, window_ns, busy_low_ns, busy_high_ns, operations, own_work_ns FROM gpu_step") ==
          "-1|55|30|30|4|50, 7|45|30|30|0|45");
    CHECK(scene.ask("SELECT rank_id, step, gpus, union_ns, sum_ns, longest_ns FROM together") ==
          "4|-1|1|30|30|30, 4|7|1|30|30|30");
}

//  known     20          40                    a wait longer than its collective; one that is not known
//  stream 0  10▒▒▒▒▒25 30~~~~~50
TEST_CASE("activity is clipped to what is known", "[busy_part]") {
    Scene scene = {facts_of(1, 1), piece_of({{20, 40}}), {}, {}};
    scene.calls = {typed(ran(launch(0, 1, 2), 10, 25), OperationClass::comm, 100),
                   typed(ran(launch(0, 3, 4), 30, 50), OperationClass::comm)};
    CHECK(scene.ask(kActivity) == "10|-1|0|5, 10|-1|2|10, 10|-1|4|5");
    CHECK(scene.ask(kGaps) == "-1|launch_latency||5");
}

TEST_CASE("each class has a bit of its own", "[busy_part]") {
    Scene scene = {facts_of(1, 1), piece_of({{0, 900}}), {}, {}};
    for (int i = 0; i < 9; ++i)
        scene.calls.push_back(
            typed(ran(launch(0, 100 * i, 100 * i + 1), 100 * i + 2, 100 * i + 13), OperationClass(i)));
    CHECK(scene.ask("SELECT classes, ns FROM activity WHERE classes > 0") ==
          "1|11, 2|11, 8|11, 16|11, 32|11, 64|11, 128|11, 256|11, 512|11");
}

//  GPU 0       10██30      50██70     90██100
//  GPU 1          20██40   50██████80                union 30 + 30 + 10
TEST_CASE("GPUs together: union, sum and the longest", "[busy_part]") {
    Scene scene = {facts_of(2, 1), piece_of({{0, 100}, {0, 100}}, {{0, {0, 60}}}), {}, {}};
    scene.calls = {ran(launch(0, 1, 2), 10, 30), ran(launch(1, 3, 4), 20, 40), ran(launch(0, 5, 6), 50, 70),
                   ran(launch(1, 7, 8), 50, 80), ran(launch(0, 9, 10), 90, 100)};
    CHECK(scene.ask("SELECT step, gpus, union_ns, sum_ns, longest_ns FROM together") ==
          "-1|2|30|40|20, 0|2|40|60|30");
}

TEST_CASE("a GPU of which nothing is known has no rows", "[busy_part]") {
    Scene scene = {facts_of(2, 1), piece_of({{0, 0}, {0, 100}}), {}, {}};
    scene.calls = {ran(launch(0, 1, 2), 10, 30), ran(launch(1, 3, 4), 20, 40)};
    CHECK(scene.ask("SELECT DISTINCT gpu_id FROM activity") == "11");
    CHECK(scene.ask("SELECT gpus, union_ns, sum_ns FROM together") == "1|20|20");
    CHECK(scene.ask("SELECT DISTINCT gpu_id FROM gap UNION SELECT gpu_id FROM gpu_step") == "11");
}

//  estimate      200██████████400        600████700
//  certainly         250█████350          650|650       start ± 50, end ± 50
//  possibly      150██████████████450   550████████750
//  likely ± 16, in steps of 16, and what is off by more than the bounds allow is as they say
TEST_CASE("busy has the bounds of its operations", "[busy_part]") {
    Scene scene = {facts_of(1, 1), piece_of({{0, 1000}}, {{0, {0, 300}}}), {}, {}};
    scene.calls = {ran_about(launch(0, 10, 20), 200, 50, 400, 50),
                   ran_about(launch(0, 30, 40), 600, 50, 700, 50)};
    scene.calls[0].times.likely_ns = 9;
    scene.calls[1].times.likely_ns = 2'000'000;
    CHECK(scene.ask("SELECT step, busy_low_ns, busy_high_ns FROM gpu_step") == "-1|50|350, 0|50|150");
    CHECK(scene.ask("SELECT step, busy_likely_low_ns, busy_likely_high_ns FROM gpu_step") ==
          "-1|84|316, 0|84|116");
    CHECK(scene.ask("SELECT sum(ns) FROM activity WHERE classes = 1") == "300");
}

//  thread   L0┐5 10┌L┐15       50┌sync┐70 75┌L┐80    100┌H2D, staged ──┐140
//  GPU           8██20              52 …                  first launch of step 1 is at 75
TEST_CASE("what the host spent on launching", "[busy_part]") {
    Scene scene = {facts_of(1, 1), piece_of({{0, 200}}, {{0, {0, 60}}, {1, {60, 160}}}), {}, {}};
    Call copy = typed(ran(launch(0, 100, 140), 145, 150), OperationClass::h2d);
    copy.blocking = true;
    Call untimed = launch(0, 150, 155);
    scene.calls = {ran(launch(0, 0, 5), 8, 20),
                   ran(launch(0, 10, 15), 20, 60),
                   sync_stream(0, 50, 70),
                   ran(launch(0, 75, 80), 85, 90),
                   copy,
                   untimed,
                   other(CallKind::record, 0, 9, 158, 159)};
    CHECK(scene.ask("SELECT step, operations, timed, first_launch_ns, api_ns, between_ns FROM gpu_step") ==
          "-1|0|0|NULL|0|0, 0|2|2|0|10|5, 1|3|2|15|11|3");
}

//  thread   L┐4   10┌── sync ──┐55   ── runs 20, blocked on futex 20 ──  95┌N┐98
//  GPU       5██████50|                                                    |100██110
//  step                          |60 one begins
TEST_CASE("causes are cut where steps begin, and sum to idle time", "[busy_part]") {
    Scene scene = {facts_of(1, 1), piece_of({{5, 110}}, {{3, {60, 110}}}), {}, {}};
    Call gap = other(CallKind::host_gap, kNoLane, kNoTarget, 55, 95);
    gap.detail = 20;
    gap.runqueue_ns = 6;
    gap.blocked_on = 0;
    scene.calls = {ran(launch(0, 0, 4), 5, 50), sync_stream(0, 10, 55), gap,
                   ran(launch(0, 95, 98), 100, 110)};
    // Asked 5 earlier: sync 45..55, futex 55..75 (of it ready 69..75), running 75..95.
    CHECK(scene.ask(kGaps) == "-1|sync||10, 3|host_blocked|futex|20, 3|host_cpu||20");
    CHECK(scene.ask("SELECT cause, pieces, longest_ns, longest_from_ns, drained_by_sync_ns FROM gap ORDER BY "
                    "cause") == "host_blocked|1|20|60|20, host_cpu|1|20|80|20, sync|1|10|50|10");
    CHECK(scene.ask("SELECT cause, ns FROM cpu_contention") == "host_blocked|6");
}

//  known    0                      |60
//  GPU       10██20                |     |80█N         N ends the gap, though not within what is known
TEST_CASE("the gap at the end is asked for what came behind it", "[busy_part]") {
    Scene scene = {facts_of(1, 1), piece_of({{10, 60}}), {}, {}};
    scene.calls = {ran(launch(0, 0, 4), 10, 20), sync_stream(0, 5, 70), ran(launch(0, 75, 78), 80, 90)};
    CHECK(scene.ask(kGaps) == "-1|sync||40");
    Scene alone = {facts_of(1, 1), piece_of({{10, 60}}), {ran(launch(0, 0, 4), 10, 20)}, {}};
    CHECK(alone.ask(kGaps) == "-1|tail||40");
}

//  thread    sync 5 ─────────────────|────── 70  75 L┐78
//  GPU       10██20                60|                  80█N         N was launched behind the piece
TEST_CASE("the gap at the end is asked for what was launched behind the piece", "[busy_part]") {
    const TraceFacts facts = facts_of(1, 1);
    const auto part = make_busy_part(facts);
    part->begin(piece_of({{10, 60}}));
    for (const Call& call : {ran(launch(0, 0, 4), 10, 20), sync_stream(0, 5, 70)}) part->take(call, false);
    part->behind(ran(launch(0, 75, 78), 80, 90));
    part->behind(ran(launch(0, 100, 101), 105, 110));
    part->end();
    Asked asked;
    part->finish(asked.run());
    CHECK(asked.rows(kGaps) == "-1|sync||40");
    CHECK(asked.rows(kActivity) == "10|-1|0|40, 10|-1|1|10");
}

//  GPU 1   10███████████40|r
//  GPU 0   10█20|                  |w, N from 42     submitted at 5: it waited for GPU 1
TEST_CASE("an operation that waited for another GPU", "[busy_part]") {
    Scene scene = {facts_of(2, 1), piece_of({{10, 50}, {10, 50}}), {}, {}};
    scene.calls = {ran(launch(1, 0, 1), 10, 40), other(CallKind::record, 1, 77, 1, 2),
                   ran(launch(0, 2, 3), 10, 20), other(CallKind::wait, 0, 77, 3, 4),
                   ran(launch(0, 4, 5), 42, 50)};
    CHECK(scene.ask(kGaps) == "-1|wait_other_gpu||22");
}

//  GPU 1   10███████████40|r
//  GPU 0   10█20|                  |w, N from 42, w, N from 46     both submitted at 4: two threads may do so
TEST_CASE("two operations that waited and were launched at the same time", "[busy_part]") {
    Scene scene = {facts_of(2, 1), piece_of({{10, 50}, {10, 50}}), {}, {}};
    scene.calls = {ran(launch(1, 0, 1), 10, 40), other(CallKind::record, 1, 77, 1, 2),
                   ran(launch(0, 2, 3), 10, 20), other(CallKind::wait, 0, 77, 3, 4),
                   ran(launch(0, 4, 5), 42, 46), other(CallKind::wait, 0, 77, 4, 4),
                   ran(launch(0, 4, 5), 46, 50)};
    CHECK(scene.ask(kGaps) == "-1|wait_other_gpu||22");
}

//  GPU 1   10█15|r
//  GPU 0   10███20|                |w, N from 42     the event was there before GPU 0 ran empty
TEST_CASE("an event that was there in time is not what was waited for", "[busy_part]") {
    Scene scene = {facts_of(2, 1), piece_of({{10, 50}, {10, 50}}), {}, {}};
    scene.calls = {ran(launch(1, 0, 1), 10, 15), other(CallKind::record, 1, 77, 1, 2),
                   ran(launch(0, 2, 3), 10, 20), other(CallKind::wait, 0, 77, 3, 4),
                   ran(launch(0, 4, 5), 42, 50)};
    CHECK(scene.ask(kGaps) == "-1|device_other||22");
}

//  thread   L┐1 L┐2                 20┌L┐21
//  GPU        10████20| |22██25|             |45██50       clocks may be 12 apart
TEST_CASE("the clocks' error is used where host and device meet", "[busy_part]") {
    Scene scene = {facts_of(1, 1), piece_of({{10, 50}}), {}, {}};
    scene.facts.clock_error_ns = 12;
    // A kernel gap of 2, of one queued 20 before; then one of 20 whose launch may be before or after its
    // begin.
    scene.calls = {ran(launch(0, 0, 1), 10, 20), ran(launch(0, 1, 2), 22, 25),
                   ran(launch(0, 20, 21), 45, 50)};
    CHECK(scene.ask(kGaps) == "-1|kernel_gap||2, -1|unresolved||20");
}

//  GPU 0   10█20|░░░ a function of the host ░░░|40█N
TEST_CASE("an operation that waited for a function of the host", "[busy_part]") {
    Scene scene = {facts_of(1, 1), piece_of({{10, 50}}), {}, {}};
    const Call function = other(CallKind::host_call, 0, kNoTarget, 3, 4);
    scene.calls = {ran(launch(0, 1, 2), 10, 20), function, ran(launch(0, 4, 5), 40, 50)};
    CHECK(scene.ask(kGaps) == "-1|wait_host_callback||20");
}

//  step n   0┌H2D┐3     ███ 30          in us: blocked 70 of the 80 before the next step's copy
TEST_CASE("the wait before each step's copy is input", "[busy_part]") {
    constexpr int64_t kUs = 1000;
    Scene scene = {facts_of(1, 1), piece_of({{0, 1000 * kUs}}), {}, {}};
    scene.facts.gpus[0].idle = {5 * kUs, 9 * kUs, 3 * kUs};
    for (int32_t step = 0; step < 10; ++step) {
        const int64_t t = 100 * kUs * step;
        const auto at = [&](int64_t us) { return t + us * kUs; };
        Call gap = other(CallKind::host_gap, kNoLane, kNoTarget, at(20), at(100));
        gap.detail = 10 * kUs;
        Call copy = typed(ran(launch(0, t, at(3)), at(5), at(10)), OperationClass::h2d);
        copy.bytes = 1000;
        scene.calls.insert(scene.calls.end(), {copy, ran(launch(0, at(10), at(12)), at(15), at(30)), gap});
        scene.piece.steps.push_back({step, {t, at(100)}});
    }
    for (Call& call : scene.calls) call.step = static_cast<int32_t>(call.enter_ns / (100 * kUs));
    // From 30 to 105 each: asked from 25 to 100; blocked until 90, running until 100. Before the first copy
    // nothing is known, behind the last nothing comes.
    CHECK(scene.ask(
              "SELECT cause, sum(ns) FROM gap WHERE cause LIKE 'input%' OR cause LIKE 'host%' GROUP BY 1") ==
          "host_unknown|5000, input_cpu|90000, input_wait|585000");
    CHECK(scene.ask("SELECT step, ns FROM gap WHERE cause = 'tail'") == "9|70000");
    CHECK(scene.ask("SELECT sum(drained_by_sync_ns) FROM gap") == "0");
}

TEST_CASE("pieces add up where no step is whole", "[busy_part]") {
    const TraceFacts facts = facts_of(1, 1);
    const auto part = make_busy_part(facts);
    give(*part, piece_of({{0, 50}}), {ran(launch(0, 1, 2), 10, 30)});
    give(*part, piece_of({{100, 150}}, {{2, {110, 120}}}), {ran(launch(0, 90, 91), 95, 130)}, 1);
    Asked asked;
    part->finish(asked.run());
    CHECK(asked.rows(kActivity) == "10|-1|0|50, 10|-1|1|40, 10|2|1|10");
    CHECK(asked.rows("SELECT step, window_ns, operations FROM gpu_step") == "-1|90|1, 2|10|0");
    CHECK(asked.rows("SELECT sum(ns) FROM gap") == "50");
}

TEST_CASE("what was launched before a piece is no launch of it, and events of another are none of it",
          "[busy_part]") {
    const TraceFacts facts = facts_of(2, 1);
    const auto part = make_busy_part(facts);
    const auto times = [](int64_t from) { return piece_of({{from, from + 50}, {from, from + 50}}); };
    give(*part, times(0), {ran(launch(1, 0, 1), 10, 500), other(CallKind::record, 1, 77, 1, 2)});
    give(*part, times(100),
         {ran(launch(0, 101, 102), 105, 120), other(CallKind::wait, 0, 77, 103, 104),
          ran(launch(0, 104, 105), 140, 150)},
         1);
    Asked asked;
    part->finish(asked.run());
    CHECK(asked.rows("SELECT gpu_id, operations, first_launch_ns FROM gpu_step") == "10|1|NULL, 11|1|NULL");
    CHECK(asked.rows("SELECT count(*) FROM gap WHERE cause = 'wait_other_gpu'") == "0");
}

//  GPU 0   █ █ █ █ █ …      10 of each 20, 1000 times; all launched before the first began
//  GPU 1    █ █ █ █ █ …     5 later
TEST_CASE("GPUs together, far ahead of the host", "[busy_part]") {
    Scene scene = {facts_of(2, 1), piece_of({{2000, 22'000}, {2000, 22'000}}), {}, {}};
    for (int64_t i = 0; i < 1000; ++i)
        for (int32_t gpu = 0; gpu < 2; ++gpu) {
            const int64_t start = 2000 + 20 * i + 5 * gpu;
            scene.calls.push_back(ran(launch(gpu, 2 * i + gpu, 2 * i + gpu), start, start + 10));
        }
    CHECK(scene.ask("SELECT union_ns, sum_ns, longest_ns FROM together") == "15000|20000|10000");
}

//  thread 1  L┐4   10┌── sync ──┐60                                        ┌N
//  thread 2                        ═ ═ ═ ═ ═ 200 calls, while GPU 0 is idle
TEST_CASE("what a gap will be asked about is not forgotten while it lasts", "[busy_part]") {
    Scene scene = {facts_of(1, 1), piece_of({{5, 90'000}}), {}, {}};
    scene.calls = {ran(launch(0, 0, 4), 5, 50), sync_stream(0, 10, 60)};
    for (int64_t i = 0; i < 200; ++i)
        scene.calls.push_back(other(CallKind::memory, kNoLane, kNoTarget, 100 + 400 * i, 110 + 400 * i, 2));
    scene.calls.push_back(ran(launch(0, 89'000, 89'010), 89'005, 90'000));
    CHECK(scene.ask("SELECT cause, ns, drained_by_sync_ns FROM gap ORDER BY 1") ==
          "host_unknown|88940|88940, sync|15|15");
}

TEST_CASE("operations that cannot be are counted, and change nothing else", "[busy_part]") {
    Scene scene = {facts_of(1, 1), piece_of({{0, 100}}), {ran(launch(0, 1, 2), 30, 30)}, {}};
    for (int i = 0; i < 70; ++i) scene.calls.push_back(sync_stream(0, 40, 41));
    scene.calls.push_back(ran(launch(0, 50, 51), 20, 60));  // 20 is settled by now
    CHECK(scene.ask("SELECT invalid, early FROM odd_operation") == "1|1");
    CHECK(scene.ask(kActivity) == "10|-1|0|80, 10|-1|1|20");
}

TEST_CASE("idle time without its causes is refused", "[busy_part]") {
    TraceFacts facts = facts_of(1, 1);
    std::vector<GpuSweep> sweeps;
    sweeps.emplace_back(0, 1, IdleFacts{}, false);
    const WholeStep step = {5, {0, 40}};
    sweeps[0].begin({0, 40}, {&step, 1}, {});
    sweeps[0].activity().end();  // and not its gaps
    Asked asked;
    CHECK_THROWS_WITH(write_busy(asked.run(), facts, sweeps, {}),
                      Catch::Contains("GPU 0, step 5") && Catch::Contains("idle time is 40 ns"));
}

}  // namespace busy_part_test
