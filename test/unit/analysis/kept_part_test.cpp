#include "analysis/run/parts/kept_part.h"

#include "analysis/exporter/kept_rows.h"
#include "analysis/run/parts/kept_writer.h"
#include "catch2/catch.hpp"
#include "made_facts.h"

namespace kept_part_test {

using namespace made;

namespace {

//   step      1 (warm-up)   2      3        4      5 (left out)
//   length    9000          1000   3000     2000   9000
struct FiveSteps : MadeFacts {
    FiveSteps() : MadeFacts(1, 1) {
        step(0, 9'000, true);
        step(9'000, 10'000);
        step(10'000, 13'000);
        step(13'000, 15'000);
        step(15'000, 24'000);
        facts.steps.back().is_left_out = true;
        made.run("INSERT INTO thread VALUES (1, 4711, 'trainer', 0)");
        made.run("INSERT INTO name VALUES (1, 'gemm', NULL)");
        made.run("INSERT INTO handle VALUES (50, 'function', 9, 0, NULL, NULL, NULL, 1)");
        made.run("INSERT INTO api VALUES (1, 'cuLaunchKernel', 'cuLaunchKernel', 'launch')");
        made.run("INSERT INTO shape VALUES (1, 50, 1, 8, 2, 1, 128, 1, 1, 64, NULL, NULL, NULL, NULL)");
        for (int64_t at = 500; at < 24'000; at += 500) {
            const std::string enter = std::to_string(at);
            made.run("INSERT INTO launch VALUES (" + enter + ", 100, 1, 1, 1, NULL, 0)");
            made.run("INSERT INTO launch_device VALUES (" + enter + ", 150, 300, 1)");
        }
    }
    void a_long_step() {
        facts.steps.pop_back();
        step(1'000'000, 2'000'000);
    }
    // `rows` with what is 0, 1, … as i.
    void insert(const std::string& rows, int count) {
        made.run("WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < " +
                 std::to_string(count - 1) + ") INSERT INTO " + rows + " FROM n");
    }
    // What became of it where the steps from..until (by index) were timed.
    std::string kept(int32_t from, int32_t until) {
        Written written;
        const auto part = make_kept_part(facts);
        TimedPiece piece = whole();
        std::erase_if(piece.steps, [&](const WholeStep& is) { return is.step < from || is.step > until; });
        give(*part, piece, {}, {});
        part->finish(written.run());
        return written.ask(
            "SELECT group_concat(why || ' ' || step || ' ' || rows, ', ') FROM (SELECT * FROM kept_step"
            " ORDER BY why)");
    }
};

Call called_in(int32_t step, int64_t enter_ns) {
    Call call = launch(0, enter_ns, enter_ns + 5);
    call.step = step;
    return call;
}

}  // namespace

TEST_CASE("the step of the median length and the longest are kept", "[kept_part]") {
    FiveSteps made;
    CHECK(made.kept(0, 4) == "typical 3 4, worst 2 6");
    CHECK(made.kept(1, 1) == "typical 1 2");             // the one that was timed
    CHECK(made.kept(4, 4) == "typical 3 4, worst 2 6");  // only one that does not count was: of all that do
}

//   slice      0    1   2   3   4
//   launches   17   2   6   4   18      of 47: after 25, in slice 2, more than half have been called
TEST_CASE("without steps the slice is kept in which half of the operations had been called", "[kept_part]") {
    FiveSteps made;
    made.facts.are_slices = true;
    Written written;
    const auto part = make_kept_part(made.facts);
    for (int32_t slice = 0; slice < 5; ++slice) {
        const Step& is = made.facts.steps[static_cast<size_t>(slice)];
        for (int64_t at = is.begin_ns; at < is.end_ns; at += 500)
            if (at > 0) part->see(called_in(slice, at));
    }
    part->finish(written.run());
    CHECK(written.ask("SELECT why, step, rows, left_out FROM kept_step") == "excerpt 2 6 0");
}

TEST_CASE("of an excerpt less is kept than of a step, and nothing where nothing ran", "[kept_part]") {
    FiveSteps made;
    made.a_long_step();
    made.facts.are_slices = true;
    made.insert("launch SELECT 1000000 + 10 * i, 5, 1, 1, 1, NULL, 0", 4'007);
    Written written;
    const auto part = make_kept_part(made.facts);
    part->see(called_in(4, 1'000'000));
    part->finish(written.run());
    CHECK(written.ask("SELECT why, step, rows, left_out FROM kept_step") == "excerpt 4 4000 7");
    Written none;
    make_kept_part(made.facts)->finish(none.run());
    CHECK(none.ask("SELECT count(*) FROM kept_step") == "0");
}

TEST_CASE("a row that is kept says all that the trace says", "[kept_part]") {
    FiveSteps made;
    Written written;
    make_kept_part(made.facts)->finish(written.run());
    CHECK(written.ask("SELECT c.kind, c.enter_ns, c.dur_ns, c.tid, c.flags, c.device_id, c.context_id,"
                      " c.stream, c.group_id, c.start_ns, c.ran_ns, a.text, b.text, n0, n1, n2, n3, n4, n5,"
                      " n6 FROM kept_call c JOIN kept_text a ON a.id = c.name_id JOIN kept_text b ON b.id ="
                      " c.what_id WHERE c.step = 3 AND c.nth = 1") ==
          "launch 13500 100 4711 0 0 1 1 - 13650 300 cuLaunchKernel gemm 64 8 2 1 128 1 1");
    CHECK(written.ask("SELECT group_concat(kind || ' ' || number || ' ' || name, ', ') FROM (SELECT * FROM"
                      " kept_track ORDER BY kind)") == "stream 1 0x0, thread 4711 trainer");
}

TEST_CASE("what is kept of a step is bounded, and what is left out is counted", "[kept_part]") {
    FiveSteps made;
    made.a_long_step();
    made.insert("launch SELECT 1000000 + 10 * i, 5, 1, 1, 1, NULL, 0", 20'005);
    Written written;
    make_kept_part(made.facts)->finish(written.run());
    CHECK(written.ask("SELECT rows, left_out FROM kept_step WHERE why = 'worst'") == "20000 5");
    CHECK(written.ask("SELECT count(*) FROM kept_call WHERE step = 4") == "20000");
}

constexpr const char* kCallsOfStep3 =
    "SELECT group_concat(before || ' ' || enter_ns, ', ') FROM (SELECT * FROM kept_call WHERE step = 3 ORDER "
    "BY nth)";

//   step        2 (index 1)   3 (index 2)     4 (index 3)
//   host   9000 ─ 9500 ── 10000 ── 10500 … ── 13000 ──── 15000
//   GPU              └─ 9650 ───────────────────── 13100 ─┘       two steps before
//                                  └─ 10650 ─────── 13000          ends when it begins
//                                        └─ 12150 ─── 13500 ─┘     one step before
TEST_CASE("with a step is kept what the steps before it left running", "[kept_part]") {
    FiveSteps made;
    made.made.run("UPDATE launch_device SET dur_ns = 13100 - 9650 WHERE enter_ns = 9500");
    made.made.run("UPDATE launch_device SET dur_ns = 13000 - 10650 WHERE enter_ns = 10500");
    made.made.run("UPDATE launch_device SET dur_ns = 13500 - 12150 WHERE enter_ns = 12000");
    Written written;
    make_kept_part(made.facts)->finish(written.run());
    CHECK(written.ask(kCallsOfStep3) == "0 13000, 0 13500, 0 14000, 0 14500, 1 12000, 2 9500");
    CHECK(written.ask("SELECT rows, left_out FROM kept_step WHERE step = 3") == "6 0");
    // The step before left nothing, so those before that one are not looked at.
    FiveSteps other;
    other.made.run("UPDATE launch_device SET dur_ns = 13100 - 9650 WHERE enter_ns = 9500");
    Written again;
    make_kept_part(other.facts)->finish(again.run());
    CHECK(again.ask("SELECT count(*) FROM kept_call WHERE before > 0 AND step = 3") == "0");
}

//   before the first          1 (index 0)
//   host   9000 ─ 9500 ── 10000 ──────── 13000
//   GPU              └─ 9650 ─────── 10200         what an eager host sends ahead may be all that there is
TEST_CASE("with the first step is kept what was called before it", "[kept_part]") {
    FiveSteps made;
    made.facts.steps.erase(made.facts.steps.begin(), made.facts.steps.begin() + 2);
    made.facts.steps.resize(1);
    made.made.run("UPDATE launch_device SET dur_ns = 10200 - 9650 WHERE enter_ns = 9500");
    made.made.run("DELETE FROM launch WHERE enter_ns >= 10000");
    Written written;
    make_kept_part(made.facts)->finish(written.run());
    CHECK(written.ask("SELECT group_concat(before || ' ' || enter_ns, ', ') FROM kept_call") == "1 9500");
}

//   before the first          1 (index 0)        2 (index 1)
//   host   9000 ─ 9500 ── 10000 ─ 10500 ── 13000 ──────── 15000
//   GPU              └─ 9650 ──────────────────────── 13100         two steps before, if the one between …
//                                     └─ 12800 ────── 13050         … has left something running, too
TEST_CASE("what was called before the first step may reach a later one", "[kept_part]") {
    for (const bool is_between : {true, false}) {
        FiveSteps made;
        made.facts.steps.erase(made.facts.steps.begin(), made.facts.steps.begin() + 2);
        made.facts.steps.resize(2);
        made.made.run("UPDATE launch_device SET dur_ns = 13100 - 9650 WHERE enter_ns = 9500");
        if (is_between)
            made.made.run("UPDATE launch_device SET dur_ns = 13050 - 12650 WHERE enter_ns = 12500");
        Written written;
        make_kept_part(made.facts)->finish(written.run());
        CHECK(written.ask("SELECT group_concat(before || ' ' || enter_ns, ', ') FROM kept_call"
                          " WHERE step = 1 AND before > 0") == (is_between ? "1 12500, 2 9500" : "-"));
    }
}

TEST_CASE("what the steps before left running is bounded, and not exported", "[kept_part]") {
    FiveSteps made;
    made.a_long_step();
    made.facts.steps[3] = made.facts.steps[4];
    made.facts.steps[3].begin_ns = 100'000;
    made.facts.steps[3].end_ns = 1'000'000;
    made.insert("launch SELECT 200000 + 10 * i, 5, 1, 1, 1, NULL, 0", 20'003);
    made.insert("launch_device SELECT 200000 + 10 * i, 0, 900000, 1", 20'003);
    Written written;
    make_kept_part(made.facts)->finish(written.run());
    CHECK(written.ask("SELECT left_out FROM kept_step WHERE why = 'worst'") == "3");
    CHECK(written.ask("SELECT count(*) FROM kept_call WHERE step = 4 AND before = 1") == "20000");
}

TEST_CASE("an excerpt has what ran when it began, however much that is", "[kept_part]") {
    FiveSteps made;
    made.a_long_step();
    made.facts.are_slices = true;
    made.facts.steps[3].begin_ns = 100'000;
    made.facts.steps[3].end_ns = 1'000'000;
    made.insert("launch SELECT 200000 + 10 * i, 5, 1, 1, 1, NULL, 0", 5'000);
    made.insert("launch_device SELECT 200000 + 10 * i, 0, 900000, 1", 5'000);
    made.insert("launch SELECT 1000000 + 10 * i, 5, 1, 1, 1, NULL, 0", 10);
    Written written;
    const auto part = make_kept_part(made.facts);
    part->see(called_in(4, 1'000'000));
    part->finish(written.run());
    CHECK(written.ask("SELECT why, rows, left_out FROM kept_step") == "excerpt 5010 0");
    CHECK(written.ask("SELECT count(*) FROM kept_call WHERE before = 1") == "5000");
}

//   step        2         3                4     two of which the host did nothing in: it was ahead
//   host   9000 ── 9500 ── 10000 · · · · · · ·
//   GPU                         └─ 13000 ── 13400 ─┘  └─ 15100 ─┘ of a later step
TEST_CASE("what a host that is far ahead has launched is kept with the step in which it runs",
          "[kept_part]") {
    FiveSteps made;
    made.made.run("DELETE FROM launch WHERE enter_ns >= 10000");
    made.made.run("UPDATE launch_device SET start_offset_ns = 4000, dur_ns = 400 WHERE enter_ns = 9000");
    made.made.run("UPDATE launch_device SET start_offset_ns = 5600, dur_ns = 400 WHERE enter_ns = 9500");
    Written written;
    make_kept_part(made.facts)->finish(written.run());
    CHECK(written.ask(kCallsOfStep3) == "2 9000");
}

TEST_CASE("the first step of a trace is the typical one only where there are too few others", "[kept_part]") {
    CHECK(typical_of({1, 0, 2}) == 1);
    CHECK(typical_of({4, 0, 3, 5, 6}) == 3);
    CHECK(typical_of({0, 1}) == 0);
    CHECK(typical_of({3, 4, 5}) == 4);
}

//   ranges   |── epoch ──────────────|     forward begins and ends in the step
//            13000    |─ forward ─|  15000
//   calls      13100    13500  14000  14500
TEST_CASE("an operation is kept with the innermost range it was called in, and its line", "[kept_part]") {
    FiveSteps made;
    made.made.run("INSERT INTO name VALUES (2, 'forward', NULL), (3, 'layer', NULL)");
    made.made.run(
        "INSERT INTO marker (enter_ns, thread_id, kind, name_id, dur_ns, flags) VALUES"
        " (14100, 1, 'pop', 2, 700, 0), (14050, 1, 'pop', 3, 100, 0)");
    made.facts.kernels.push_back({"gemm", {}});
    made.facts.shapes[1] = {0, 8, 128};
    made.facts.python.lines = {{"/job/train.py", "step", 31}, {"/job/train.py", "warm", 7}};
    made.facts.python.of_frame = {{5, {0, PythonDoes::loads, 0}}, {6, {1, PythonDoes::loads, 1}}};
    // At 14500 + 150 the launch of 14500 had returned: of no launch.
    made.made.run(
        "INSERT INTO python_launch VALUES (10010, 1, 5), (10520, 1, 6), (11050, 1, 5), (14650, 1, 6)");
    Written written;
    make_kept_part(made.facts)->finish(written.run());
    CHECK(written.ask("SELECT group_concat(c.enter_ns || ' ' || coalesce(r.text, '-'), ', ') FROM kept_call c"
                      " LEFT JOIN kept_text r ON r.id = c.range_id WHERE c.step = 3 AND c.kind = 'launch'") ==
          "13000 -, 13500 forward, 14000 layer, 14500 -");
    CHECK(written.ask("SELECT DISTINCT t.text FROM kept_call c JOIN kept_text t ON t.id = c.line_id") ==
          "train.py:31 (step), 2 of 3 samples");
}

TEST_CASE("another step of a rank is kept beside those there are", "[kept_part]") {
    FiveSteps made;
    Written written;
    make_kept_part(made.facts)->finish(written.run());
    const std::string texts = written.ask("SELECT group_concat(id || text) FROM kept_text");
    KeptWriter writer(made.facts, written.run());
    CHECK(writer.has(3));
    CHECK_FALSE(writer.has(1));
    writer.keep(1, "typical of all ranks");
    writer.finish();
    CHECK(written.ask("SELECT count(*), max(why) FROM kept_step") == "3 worst");
    CHECK(written.ask("SELECT group_concat(id || text) FROM kept_text") == texts);
    CHECK(written.ask("SELECT count(*) FROM kept_track") == "2");
}

TEST_CASE("a long text is cut, and of many only some are kept", "[kept_part]") {
    FiveSteps made;
    made.a_long_step();
    made.insert("name SELECT 100 + i, printf('%.5000c', 'x') || i, NULL", 1);
    made.insert("name SELECT 200 + i, 'range ' || i, NULL", 5000);
    made.insert(
        "marker (enter_ns, thread_id, kind, name_id, dur_ns, flags)"
        " SELECT 1000010 + 10 * i, 1, 'pop', CASE i WHEN 0 THEN 100 ELSE 200 + i END, 1, 0",
        5000);
    Written written;
    make_kept_part(made.facts)->finish(written.run());
    CHECK(written.ask("SELECT max(length(text)), count(*) FROM kept_text") == "1024 4097");
    CHECK(written.ask("SELECT count(*) > 900 FROM kept_call WHERE name_id = 0") == "1");
}

}  // namespace kept_part_test
