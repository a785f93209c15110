// The first lines of a report: what a job is, what a step is made of, and how good the evidence is.
#include <catch2/catch.hpp>

#include "analysis/advice/advise.h"
#include "analysis/report/evidence.h"
#include "analysis/report/facts.h"
#include "analysis/report/printed.h"
#include "idle_run.h"
#include "made_run.h"
#include "run_rows.h"

namespace verdict_test {

using namespace made;
using Catch::Contains;

namespace {

Report report_of(const MadeRun& made) {
    const Database run = made.open();
    return write_report({run});
}

Report report_of(RunRows rows) {
    const TemporaryFolder folder;
    const std::string place = folder.path() / "made.run.db";
    rows.change("VACUUM INTO '" + place + "'");
    const Database run(place);
    return write_report({run});
}

// Of a job of one GPU whose steps are all like this one.
Report report_of(const StepOf& step, const std::string& also = "") {
    RunRows rows;
    rows.rank(0).steps(0, step);
    rows.change(also);
    rows.change("UPDATE gpu SET memory_peak_bytes = 15 << 30");  // no room for a larger batch
    return report_of(std::move(rows));
}

Json verdict_of(const StepOf& step, const std::string& also = "") {
    return report_of(step, also).json["verdict"];
}

// The first lines, each as one, until what to do.
std::string first_lines(const Report& report) {
    std::string text;
    for (const auto& block : report.blocks) {
        const Line* const line = std::get_if<Line>(&block);
        if (line == nullptr || line->text.empty()) break;
        text += line->text + "\n";
    }
    return text;
}

TrustGrade graded(const std::string& sql) {
    const MadeRun made;
    made.change(sql);
    const Database run = made.open();
    return evidence_of({run});
}

}  // namespace

TEST_CASE("idle time that nothing recorded explains is not called idle", "[verdict]") {
    const StepOf queued = {.ran = {{kCompute, 4 * kMs}}, .idle = {{"device_other", 16 * kMs}}};
    const Json verdict = verdict_of(queued);
    CHECK(verdict["word"].words() == "not known");
    CHECK_THAT(verdict["text"].words(),
               Contains("80 % of each step work was queued and nothing that was recorded"));
    CHECK(verdict["trust"].words() == "poor");
    const StepOf some = {.ran = {{kCompute, 17 * kMs}}, .idle = {{"device_other", 3 * kMs}}};
    CHECK(verdict_of(some)["word"].words() == "compute-bound");
    const StepOf idle = {.ran = {{kCompute, 4 * kMs}}, .idle = {{"unresolved", 16 * kMs}}};
    CHECK(verdict_of(idle)["word"].words() == "idle");
}

TEST_CASE("where most operations have no times there is a verdict if they leave little open", "[verdict]") {
    // of a step of 20 ms: by how much the busy time may be longer
    const auto said = [](const char* coverage, const char* open_ns, const char* of_steps = "NULL") {
        const MadeRun made;
        made.change(std::string("UPDATE gpu SET coverage = ") + coverage +
                    "; UPDATE step_work SET coverage = " + of_steps +
                    "; UPDATE gpu_step SET busy_high_ns = busy_low_ns + " + open_ns);
        return report_of(made).json["verdict"];
    };
    CHECK(said("0.51", "19000000")["word"].words() == "input-bound");
    CHECK(said("0.49", "1000000")["word"].words() == "input-bound");
    const Json verdict = said("0.49", "19000000");
    CHECK(verdict["word"].words() == "not known");
    CHECK_THAT(verdict["text"].words(),
               Contains("49.0 % of the operations in timed spans have device times"));
    CHECK(verdict["finding"].text() == "null");
    CHECK_THAT(verdict["why"].words(), Contains("too little is known for a verdict"));
    // A start-up that had no times is no step's, and the other way round.
    CHECK(said("0.1", "19000000", "0.9")["word"].words() == "input-bound");
    CHECK_THAT(said("0.9", "19000000", "0.1")["text"].words(),
               Contains("10.0 % of the operations in steps have device times"));
}

//  launched   · · · · ||||||||||||||||||||||||||||||||||      timed: 200 ms of a second, mostly its start
TEST_CASE("what was timed of a start is no figure of a run without steps", "[verdict]") {
    const auto said = [](int64_t launches, double timed_share, const char* also = "") {
        RunRows rows;
        rows.rank(0, "none").step(0, -1,
                                  {.ran = {{kCompute, 40 * kMs}}, .idle = {{"alloc_or_load", 160 * kMs}}});
        rows.change("DELETE FROM step; UPDATE gpu SET timed_share = " + std::to_string(timed_share));
        rows.add("stream_stat", {{"gpu_id", 0}, {"stream_id", 1}, {"launches", launches}});
        if (*also != 0) rows.change(also);
        return report_of(std::move(rows));
    };
    // 100 operations in 200 ms; 500 in the second are as many a ms
    CHECK(said(500, 0.2).json["verdict"]["finding"].words() == "allocations");
    CHECK(said(900, 0.2).json["verdict"]["finding"].words() == "allocations");
    CHECK(said(5000, 0.6).json["verdict"]["finding"].words() == "allocations");
    // A GPU with hardly an operation says nothing, and ranks that have steps are told by these.
    CHECK(said(500, 0.2,
               "INSERT INTO gpu (gpu_id, rank_id, run_ns, timed_share) VALUES (9, 0, 1000000000, 0.2);"
               " INSERT INTO gpu_step (gpu_id, step, window_ns, operations) VALUES (9, -1, 200000000, 0);"
               " INSERT INTO stream_stat (gpu_id, stream_id, memsets) VALUES (9, 1, 1)")
              .json["verdict"]["finding"]
              .words() == "allocations");
    CHECK(said(5000, 0.2, "INSERT INTO rank (rank_id, steps_source) VALUES (9, 'detected')")
              .json["verdict"]["finding"]
              .words() == "allocations");
    for (const int64_t launches : {5000, 100}) {
        const Report report = said(launches, 0.2);
        CHECK(report.json["verdict"]["word"].words() == "not known");
        CHECK(report.json["verdict"]["trust"].words() == "poor");
        CHECK(report.json["findings"].text() == "[]");
        CHECK(report.json["cost"]["lost_gpu_hours_per_day"].text() == "null");
        const std::string lines = first_lines(report);
        CHECK_THAT(lines, Contains("VERDICT  not known: 20 % of the run was timed, and that is not like the "
                                   "rest: 0.5 operations a ms were launched in it, " +
                                   std::string(launches == 5000 ? "5" : "0.1") + " in the whole run\n"));
        CHECK_THAT(lines,
                   Contains("STEP     none found; of 20.0 % of the run, which is not like the rest ·"));
    }
}

TEST_CASE("what one step has is not said of each", "[verdict]") {
    const auto text = [](RunRows rows) { return report_of(std::move(rows)).json["verdict"]["text"].text(); };
    const std::string what = "the GPU waits while the host does something else";
    CHECK_THAT(text(but_for_one("host_cpu", "host_cpu")),
               Contains("10 % of the time " + what + " (2.09–2.10 ms of 21.1 ms on average)"));
    CHECK_THAT(text(idle_run("host_cpu", 2 * kMs)),
               Contains("10 % of each step " + what + " (1.99–2.00 ms of 20.0 ms)"));
}

//  rank 0   ███ ███ ███ ███      steps
//  rank 1   ───────────────      has none, and logs
TEST_CASE("a GPU whose process has no steps is no part of one", "[verdict]") {
    const auto lines = [](const char* source_of_second, double busy_share) {
        RunRows run;
        run.rank(0).rank(1, source_of_second);
        run.change("UPDATE gpu SET busy_share = " + std::to_string(busy_share) + " WHERE rank_id = 1");
        run.steps(0, {.ran = {{kCompute, 19 * kMs}}, .idle = {{"sync", 1 * kMs}}});
        run.steps(1, {.idle = {{"host_blocked", 20 * kMs}}}, 4);
        run.change("UPDATE gpu SET memory_peak_bytes = 15 << 30");
        return first_lines(report_of(std::move(run)));
    };
    CHECK_THAT(lines("none", 0.001), Contains("compute 95.0 %") && Contains("idle 5.0 %"));
    CHECK_THAT(lines("detected", 0.001), !Contains("compute 95.0 %"));
    CHECK_THAT(lines("none", 0.9), !Contains("compute 95.0 %"));  // of what it does, no steps were found
}

TEST_CASE("a report begins with the verdict, the step and the trust", "[verdict]") {
    const MadeRun made;
    const Report report = report_of(made);
    CHECK(
        first_lines(report) ==
        "VERDICT  input-bound (highly): 24 % of each step the GPU waits for data (4.71–4.80 ms of 20.0 ms); "
        "loading ahead, in more workers → about 15.2–15.3 ms a step (1.3x)\n"
        "STEP     20.0 ms · 50/s · compute 45.7 % · waiting for peers 3.0 % · exposed communication 1.3 % · "
        "memory 16.1 % · idle 34.0 %\n"
        "TRUST    good: 14.2 % of the run timed, own cost 0.40 %\n"
        "EVIDENCE SIMULATED: these are not GPU times\n");
    const Json verdict = report.json["verdict"];
    CHECK(verdict["word"].text() == "\"input-bound\"");
    CHECK(verdict["finding"].text() == report.json["findings"].items()[0]["id"].text());
    CHECK(verdict["trust"].text() == "\"good\"");
    CHECK(verdict["evidence"].text() == "[]");
}

TEST_CASE("kernels whose times end as they begin are not said to be timed like others", "[verdict]") {
    const char* const all = "UPDATE gpu SET timed_share = 1, coverage = 1;";
    CHECK(graded(all).basis == "all operations timed, own cost 0.40 %");
    const std::string basis = graded(std::string(all) +
                                     "UPDATE kernel SET invalid = 0;"
                                     "UPDATE kernel SET launches = 1000, graph_launches = 0;"
                                     "DELETE FROM kernel WHERE rowid > 2;"
                                     "UPDATE kernel SET invalid = 3 WHERE rowid = 1")
                                  .basis;
    CHECK(basis == "all operations timed, but 3 of 2,000 kernels have no length, own cost 0.40 %");
}

TEST_CASE("a finding below a fifth of a step is moderate, below a twentieth no verdict", "[verdict]") {
    const auto verdict = [](int64_t waits_us) {
        return verdict_of(
            {.ran = {{kCompute, 20 * kMs - waits_us * kUs}}, .idle = {{"input_cpu", waits_us * kUs}}});
    };
    CHECK(verdict(4200)["level"].text() == "\"highly\"");
    CHECK(verdict(3800)["level"].text() == "\"moderately\"");
    CHECK(verdict(1200)["word"].text() == "\"input-bound\"");
    const Json none = verdict(800);
    CHECK(none["word"].text() == "\"compute-bound\"");
    CHECK(none["level"].is_null());
    CHECK(none["text"].text() ==
          "\"96 % of each step computes; no change that gpushim knows of is worth 5 % of it\"");
}

TEST_CASE("a job that computes most of the time, and has a large part that no change shortens, says so",
          "[verdict]") {
    const auto text = [](int64_t wait_ms) {
        return verdict_of({.ran = {{kCompute, (20 - wait_ms) * kMs}, {kWaiting, wait_ms * kMs}}})["text"]
            .words();
    };
    CHECK_THAT(text(5), Contains("75 % of each step computes, in 25 % GPUs wait for each other; no change"));
    CHECK_THAT(text(1), Contains("95 % of each step computes; no change"));
}

TEST_CASE("idle time of short steps has digits that tell something", "[verdict]") {
    const auto idle_line = [](int64_t idle_us) {
        const Report report =
            report_of({.ran = {{kCompute, 10 * kUs}}, .idle = {{"launch_bound", idle_us * kUs}}});
        for (const auto& block : report.blocks)
            if (const Line* const line = std::get_if<Line>(&block); line && line->text.starts_with("IDLE"))
                return line->text;
        return std::string();
    };
    CHECK(idle_line(49) == "IDLE       launch 49.00 us");
    CHECK(idle_line(490) == "IDLE       launch 0.49 ms");
}

TEST_CASE("of a change that leaves next to nothing no factor is told", "[verdict]") {
    const Json verdict =
        verdict_of({.ran = {{kCompute, 10 * kUs}}, .idle = {{"input_cpu", 20 * kMs - 10 * kUs}}});
    CHECK_THAT(verdict["text"].text(), Contains("(over 100x)"));
    CHECK(std::stod(verdict["share_high"].text()) <= 1);
    // Of 20 ms 0.3 stay for sure if launches do: 66 times as many, or any number.
    const std::string range =
        verdict_of(
            {.ran = {{kCompute, 100 * kUs}}, .idle = {{"launch_bound", 19'900 * kUs}}, .pieces = 130})["text"]
            .text();
    CHECK_THAT(range, Contains("(over 6") && !Contains("–over"));
    CHECK(std::stoll(verdict["after_low_ns"].text()) >= 0);
}

//  step   |####################################### sweep, 16 blocks|idle| 20 ms
TEST_CASE("kernels that leave most of the GPU empty are the verdict where nothing large is found",
          "[verdict]") {
    const std::string small =
        "INSERT INTO kernel (gpu_id, name, launches, graph_launches, timed, sum_ns, small_grid, "
        "small_grid_ns,"
        " small_grid_filled_ns) VALUES (0, 'sweep', 20, 0, 20, 360000000, 20, 360000000, 36000000)";
    const auto verdict = [&](int64_t idle_ms) {
        return verdict_of({.ran = {{kCompute, (20 - idle_ms) * kMs}}, .idle = {{"input_cpu", idle_ms * kMs}}},
                          small);
    };
    for (const int64_t idle_ms : {0, 2}) {
        CHECK(verdict(idle_ms)["word"].text() == "\"compute-bound\"");
        CHECK(verdict(idle_ms)["finding"].text() == "\"small_grids\"");
        CHECK(verdict(idle_ms)["share_low"].is_null());
        CHECK_THAT(verdict(idle_ms)["why"].text(), !Contains("no steps were found"));
    }
    CHECK(
        verdict(2)["text"].text() ==
        "\"90 % of each step computes, in kernels that leave at least half of the GPU empty; more blocks, or "
        "several such kernels at once\"");
    CHECK(verdict(5)["word"].text() == "\"input-bound\"");  // that is more to gain
}

TEST_CASE("where no rule knows a change, a verdict is what most of the time is", "[verdict]") {
    CHECK(verdict_of({.ran = {{kCompute, 5 * kMs}}, .idle = {{"unresolved", 15 * kMs}}})["text"].text() ==
          "\"75 % of each step the GPU is idle, the largest cause is unresolved (gaps that the clocks do not "
          "resolve); no change that gpushim "
          "knows "
          "of is worth 5 % of it\"");
    CHECK(verdict_of({.ran = {{kCompute, 4 * kMs}, {kWaiting, 16 * kMs}}})["word"].text() == "\"waiting\"");
    CHECK(verdict_of({.ran = {{kCompute, 4 * kMs}, {kMemset, 16 * kMs}}})["word"].text() ==
          "\"memory-bound\"");
}

TEST_CASE("without device times there is no verdict, and the evidence is poor", "[verdict]") {
    RunShape shape;
    shape.device_times = false;
    const MadeRun made(shape);
    const std::string text = first_lines(report_of(made));
    CHECK_THAT(text, Contains("VERDICT  not known: nothing was timed\n"));
    CHECK_THAT(text, Contains("STEP     20.0 ms · 50/s · what the GPU did in it is not recorded\n"));
    CHECK_THAT(text,
               Contains("TRUST    poor") && Contains("host times only: what the GPU did is not recorded"));
}

TEST_CASE("what is wrong with the evidence has a grade", "[verdict][evidence]") {
    const std::string busy_less =
        "UPDATE gpu SET busy_share_likely_low = NULL;"
        " UPDATE gpu_step SET busy_likely_low_ns = busy_low_ns - ";
    CHECK(graded(busy_less + "9000000").grade == Grade::good);
    CHECK(graded(busy_less + "11000000").grade == Grade::fair);
    const std::string of_windows = "UPDATE step_work SET coverage = NULL; UPDATE gpu SET coverage = ";
    CHECK(graded(of_windows + "0.91").grade == Grade::good);
    CHECK(graded(of_windows + "0.89").grade == Grade::fair);
    CHECK(graded(of_windows + "0.49").grade == Grade::fair);
    CHECK(graded(of_windows + "0.49; UPDATE gpu_step SET busy_high_ns = busy_low_ns + 19000000").grade ==
          Grade::poor);
    CHECK(graded("UPDATE gpu SET timed_share = 0.09").wrongs ==
          std::vector<std::string>{"9.0 % of the run was timed, the rest is an estimate"});
    CHECK(graded("UPDATE rank SET world_size = 3").wrongs == std::vector<std::string>{"2 of 3 ranks"});
    CHECK(graded("UPDATE rank SET dropped = 1").grade == Grade::fair);
    CHECK(graded("UPDATE rank SET dropped = produced / 50").grade == Grade::poor);
    CHECK(graded("UPDATE rank SET steps_confidence = 0.7").grade == Grade::fair);
}

TEST_CASE("our own cost is said where it is too much, but not of a short run", "[verdict][evidence]") {
    const std::string much = "UPDATE rank SET own_cost_share = 0.03, budget = 0.01, last_ns = first_ns + ";
    CHECK(graded(much + "9000000000").grade == Grade::good);
    CHECK(graded(much + "11000000000").wrongs == std::vector<std::string>{"own cost 3.0 %, more than 1.0 %"});
}

TEST_CASE("every rule has words for its findings", "[verdict]") {
    for (const Rule* rule : all_rules()) {
        INFO(rule->id);
        CHECK(*rule->heading.verdict != '\0');
        CHECK(*rule->heading.title != '\0');
    }
}

TEST_CASE("two bounds are one figure where they look alike", "[verdict]") {
    CHECK(shares_text(0.04, 0.08) == "4–8 %");
    CHECK(shares_text(0.731, 0.733) == "73 %");
    CHECK(shares_text(0, 0.27) == "up to 27 %");
    CHECK(shares_text(0.004, 0.012) == "0.4–1 %");
    CHECK(times_text(315'000, 315'040) == "315 us");
    CHECK(times_text(4'100'000, 4'800'000) == "4.10–4.80 ms");
    CHECK(times_text(0, 1'700'000) == "up to 1.70 ms");
    CHECK(times_text(0, 0) == "0 ns");
}

}  // namespace verdict_test
