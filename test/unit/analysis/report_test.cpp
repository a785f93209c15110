// From a run database that is made by hand to the words and figures of the report.
#include <catch2/catch.hpp>

#include "analysis/idle/cause.h"
#include "analysis/report/printed.h"
#include "made_run.h"

namespace report_test {

using namespace made;
using Catch::Contains;

namespace {

Report report_of(const MadeRun& made, const ReportOptions& options = {}) {
    const Database run = made.open();
    return write_report({run, nullptr, options});
}

}  // namespace

TEST_CASE("two GPUs: the words and figures that belong together", "[report]") {
    const MadeRun made;
    ReportOptions options;
    options.samples_per_step = 64;
    options.price_per_gpu_hour = 2.50;
    options.bandwidth_bytes_per_s = 200e9;
    options.all = true;
    const std::string text = text_of(report_of(made, options));
    for (const char* said : {
             "events  333,812 produced = 333,812 recorded + 0 recovered + 0 dropped + 0 unfinished; unknown "
             "0",
             "2 of 2 ranks   2 x Simulated GPU\n",
             "device times by events: 4 windows, 14.2 % of the run, 100.0 % of the operations in that time",
             "clock ±800 ns; launch latency 8.00 us",
             "own cost 0.40 % of the busiest thread's time, mean of 2 processes (budget 1.0 %)",
             "STEPS      20.0 ms median, 21.3 ms p95\n",
             "steps 21-400 (380; 20 left out; by sgd_step, 99 % sure)",
             "IDLE       input 4.80 + launch 1.20 + sync 0.60 + host 0.20 = 6.80 ms, mean of 2 GPUs",
             "most input_cpu 4.80 ms (the host computed before the input copy); 0.60 ms after waits",
             "5.2 of 15.2 GPU-seconds",
             "LOST       idle 16.3 + waiting 1.4 + exposed comm 0.6 + memory 7.7 = 26.1 of 48 GPU-hours or "
             "$65.18 a day",
             "LAUNCH     412/step, call 4.10 us, 8.00 us to an empty GPU (p95 8.90 us), 184 kernels under "
             "16.0 us",
             "stream 14  h2d 19.3 MB/step, pageable, blocking, 3.21 ms at 6.01 GB/s (pinned: 25.0 GB/s)",
             "stream 7  d2h 4 B/step, pageable, blocking, 2.00 us at 2.00 MB/s, waited for in every step",
             "ALLREDUCE  46.8 MB/step = 1.00 x 11,689,512 parameters x 4 bytes, 2 calls",
             "expected 234 us at 200 GB/s (given), measured 254 us (1.09x)",
             "SKEW       rank 1 makes a step 1.20 ms longer, has most work in 57 of 57 timed steps "
             "(p < 1e-9), cause compute",
         }) {
        INFO(text);
        CHECK_THAT(text, Contains(said));
    }
    CHECK_THAT(text,
               Contains("fp16/bf16 0 %; GEMM/conv 71 % of time, by name (tensor cores 0 %, unknown 6 %)"));
    CHECK_THAT(text, Contains("MEMORY     peak 858 MiB of 14.9 GiB"));
}

TEST_CASE("GPUs are shown with what is lost, the worst first", "[report]") {
    const MadeRun made;
    const Report report = report_of(made);
    std::vector<std::string> rows;
    for (const std::string& line : as_text(report))
        if (line.starts_with("  rank ")) rows.push_back(line);
    REQUIRE(rows.size() >= 2);
    CHECK_THAT(rows[0], Contains("rank 0  8.54 ms  42.7 %    1.20 ms  6.0 %  6.80 ms  34.0 % ±0.3"));
    CHECK_THAT(rows[1], Contains("rank 1  9.74 ms  48.7 %"));
    CHECK_THAT(rows[0], Contains("62.0 % ±1.0"));
    CHECK_THAT(rows[0], Contains("57 steps"));
}

TEST_CASE("what is certain of a GPU is said where all was asked for", "[report]") {
    const MadeRun made;
    ReportOptions options;
    const auto said = [&] {
        std::string text;
        for (const std::string& line : as_text(report_of(made, options))) text += line + "\n";
        return text;
    };
    CHECK_THAT(said(), !Contains("CERTAIN"));
    options.all = true;
    CHECK_THAT(said(), Contains("CERTAIN   busy, where timed   busy, whole run\n"
                                "  rank 0   65.4 % to 66.6 %  60.0 % to 63.0 %\n"));
}

TEST_CASE("the JSON has every key that is promised", "[report]") {
    const MadeRun made;
    const Report report = report_of(made);
    const char* const kPaths[] = {
        "schema",
        "ledger.produced",
        "ledger.recorded",
        "ledger.dropped",
        "ledger.recovered",
        "ledger.unfinished",
        "ledger.unknown",
        "ledger.unknown_abi",
        "ledger.traces",
        "ledger.ranks_seen",
        "ledger.ranks_expected",
        "trust.level",
        "trust.coverage",
        "trust.timed_share",
        "trust.windows",
        "trust.clock_error_ns",
        "trust.own_cost_share",
        "trust.budget",
        "steps.count",
        "steps.first",
        "steps.last",
        "steps.left_out",
        "steps.median_ns",
        "steps.p95_ns",
        "steps.anchor",
        "steps.confidence",
        "phases[0].name",
        "phases[0].ns_per_step",
        "phases[0].device_ns_per_step",
        "phases[0].device_steps",
        "phases[0].confidence",
        "gpus[0].rank",
        "gpus[0].gpu",
        "gpus[0].name",
        "gpus[0].simulated",
        "gpus[0].window_ns",
        "gpus[0].bounds",
        "gpus[0].busy_share",
        "gpus[0].busy_share_low",
        "gpus[0].busy_share_high",
        "gpus[0].busy_share_likely_low",
        "gpus[0].busy_share_likely_high",
        "gpus[0].idle_share_likely_low",
        "gpus[0].idle_share_likely_high",
        "gpus[0].run_busy_share_likely_low",
        "gpus[0].run_busy_share_likely_high",
        "gpus[0].productive_share",
        "gpus[0].waiting_for_peer_share",
        "gpus[0].exposed_comm_share",
        "gpus[0].memory_share",
        "gpus[0].idle_share",
        "gpus[0].idle_ns",
        "gpus[0].idle_by_cause_ns",
        "gpus[0].compute_share",
        "gpus[0].copy_share",
        "gpus[0].comm_share",
        "gpus[0].exposed_comm_ns",
        "gpus[0].overlap_share",
        "gpus[0].memory_peak_bytes",
        "gpus[0].memory_total_bytes",
        "streams[0].rank",
        "streams[0].stream",
        "streams[0].role",
        "streams[0].busy_ns",
        "streams[0].launches",
        "streams[0].copies",
        "streams[0].bytes",
        "launch[0].rank",
        "launch[0].stream",
        "launch[0].count",
        "launch[0].api_p50_ns",
        "launch[0].latency_p50_ns",
        "launch[0].latency_p95_ns",
        "launch[0].small_kernel_count",
        "launch[0].runway_p5_ns",
        "copies[0].rank",
        "copies[0].stream",
        "copies[0].kind",
        "copies[0].count",
        "copies[0].bytes",
        "copies[0].pageable_share",
        "copies[0].blocking_share",
        "copies[0].achieved_bytes_per_s",
        "copies[0].per_step",
        "kernels[0].name",
        "kernels[0].count",
        "kernels[0].sum_ns",
        "kernels[0].union_ns",
        "kernels[0].share",
        "kernels[0].precision",
        "kernels[0].tensor_core",
        "collectives[0].comm",
        "collectives[0].op",
        "collectives[0].dtype",
        "collectives[0].bytes",
        "collectives[0].ranks",
        "collectives[0].count",
        "collectives[0].transfer_p50_ns",
        "collectives[0].wait_p50_ns",
        "collectives[0].algbw_bytes_per_s",
        "collectives[0].busbw_bytes_per_s",
        "collectives[0].expected_simple_ns",
        "collectives[0].expected_ring_ns",
        "collectives[0].bandwidth_bytes_per_s",
        "collectives[0].bandwidth_source",
        "allreduce_check.params",
        "allreduce_check.params_implied",
        "allreduce_check.bytes_per_step",
        "allreduce_check.calls_per_step",
        "allreduce_check.ratio_to_params",
        "allreduce_check.expected_ns",
        "allreduce_check.measured_ns",
        "skew.spread_p50_ns",
        "skew.clock_error_ns",
        "skew.straggler.rank",
        "skew.straggler.time_saved_per_step_ns",
        "skew.straggler.least_saved_per_step_ns",
        "skew.straggler.most_saved_per_step_ns",
        "skew.straggler.p_value",
        "skew.straggler.cause",
        "skew.stagger_p50_ns",
        "skew.sequential_index",
        "skew.imbalance",
    };
    for (const char* path : kPaths) {
        INFO(path);
        CHECK(asked(report, "SELECT json_type(?1, '$." + std::string(path) + "')") != "");
        CHECK(value(report, path) != "");
    }
    CHECK(unexplained(report) == "");
    CHECK_THAT(value(report, "steps.why"), Contains("the number of samples"));
}

TEST_CASE("busy and idle are one, and the causes are the idle time", "[report]") {
    const MadeRun made;
    const Report report = report_of(made);
    CHECK(value(report, "gpus[0].window_ns") == "1140000000");
    CHECK(value(report, "gpus[0].idle_ns") == std::to_string(6'800'000 * kTimed));
    CHECK(asked(report,
                "SELECT sum(c.value) = json_extract(?1, '$.gpus[0].idle_ns')"
                " FROM json_each(?1, '$.gpus[0].idle_by_cause_ns') c") == "1");
    CHECK(
        asked(report,
              "SELECT abs(json_extract(?1, '$.gpus[0].busy_share') + json_extract(?1, '$.gpus[0].idle_share')"
              " - 1) < 1e-12") == "1");
    // The steps' own 0.66 ± 0.006, whatever the run was before them.
    CHECK(std::stod(value(report, "gpus[0].busy_share")) == Approx(0.66));
    CHECK(std::stod(value(report, "gpus[0].busy_share_low")) == Approx(0.654));
    CHECK(std::stod(value(report, "gpus[0].busy_share_high")) == Approx(0.666));
    CHECK(std::stod(value(report, "gpus[0].run_busy_share")) == Approx(0.62));
    CHECK(std::stod(value(report, "gpus[0].overlap_share")) == Approx(0));
    CHECK(std::stod(value(report, "gpus[0].comm_share")) == Approx((0.254 + 1.2) / 20));
    CHECK(value(report, "gpus[0].sampled") == "1");
}

TEST_CASE("without steps it is answered of the run", "[report]") {
    RunShape shape;
    shape.steps = false;
    const MadeRun made(shape);
    const Report report = report_of(made);
    const std::string text = text_of(report);
    INFO(text);
    CHECK_THAT(
        text,
        Contains(
            "STEPS      no steps found; the figures below are of the whole run\n           nothing recurs"));
    CHECK_THAT(text, Contains("IDLE       input 24.00 + launch 6.00 + sync 3.00 + host 1.00 = 34.00 %"));
    CHECK_THAT(text, Contains("LAUNCH     164,800 in all"));
    CHECK(value(report, "gpus[0].basis") == "slices");
    CHECK(value(report, "steps.count") == "0");
    CHECK(value(report, "steps.median_ns") == "");
    CHECK_THAT(value(report, "steps.why"), Contains("nothing recurs"));
    CHECK(unexplained(report) == "");
}

TEST_CASE("without device times there are bounds, and nothing is 0 that is not known", "[report]") {
    RunShape shape;
    shape.device_times = false;
    const MadeRun made(shape);
    const Report report = report_of(made);
    const std::string text = text_of(report);
    INFO(text);
    CHECK_THAT(text,
               Contains("TRUST    poor") && Contains("host times only: what the GPU did is not recorded"));
    CHECK_THAT(text, Contains("at most 79.2 %"));
    CHECK_THAT(text, Contains("not known for rank 0: device times are not recorded"));
    CHECK_THAT(text, !Contains("IDLE"));
    CHECK_THAT(text, Contains("latency is not recorded"));
    CHECK_THAT(text, Contains("their times are not recorded"));
    CHECK_THAT(text, Contains("STEPS      20.0 ms median"));  // steps are the host's
    CHECK(asked(report, "SELECT json_type(?1, '$.gpus[0].busy_share')") == "null");
    CHECK(asked(report, "SELECT json_type(?1, '$.gpus[0].idle_by_cause_ns')") == "null");
    CHECK(asked(report, "SELECT json_type(?1, '$.kernels[0].sum_ns')") == "null");
    CHECK(asked(report, "SELECT json_type(?1, '$.copies[0].achieved_bytes_per_s')") == "null");
    CHECK(asked(report, "SELECT json_type(?1, '$.launch[0].latency_p50_ns')") == "null");
    CHECK(asked(report, "SELECT json_type(?1, '$.skew.straggler')") == "null");
    CHECK(std::stod(value(report, "gpus[0].busy_share_high")) == Approx(0.792));
    CHECK(std::stod(value(report, "gpus[0].idle_share_low")) == Approx(0.208));
    CHECK(unexplained(report) == "");
}

TEST_CASE("what is timed in no whole step is better than nothing", "[report]") {
    RunShape shape;
    shape.whole_steps = false;
    const MadeRun made(shape);
    const Report report = report_of(made);
    CHECK(value(report, "gpus[0].basis") == "spans");
    CHECK(std::stod(value(report, "gpus[0].idle_share")) == Approx(0.34));
    CHECK_THAT(text_of(report), Contains("= 34.00 %"));
}

TEST_CASE("one GPU alone: nothing of others, and it says why", "[report]") {
    RunShape shape;
    shape.ranks = 1;
    shape.collectives = false;
    const MadeRun made(shape);
    const Report report = report_of(made);
    const std::string text = text_of(report);
    INFO(text);
    CHECK_THAT(text, Contains("1 of 1 rank "));
    CHECK_THAT(text, !Contains("SKEW") && !Contains("ALLREDUCE") && !Contains("COLLECTIVES"));
    CHECK(value(report, "gpus[0].exposed_comm_ns") == "0");
    CHECK_THAT(value(report, "gpus[0].why"), Contains("no communication ran"));
    CHECK_THAT(value(report, "skew.why"), Contains("one GPU"));
    CHECK_THAT(value(report, "allreduce_check.why"), Contains("no collectives were recorded"));
    CHECK(unexplained(report) == "");
}

TEST_CASE("a range of steps is inclusive at both ends", "[report]") {
    const MadeRun made;
    ReportOptions options;
    options.from_step = 31;
    options.to_step = 40;
    const Report report = report_of(made, options);
    CHECK(value(report, "steps.count") == "10");
    CHECK(value(report, "steps.first") == "31");
    CHECK(value(report, "steps.last") == "40");
    CHECK(value(report, "gpus[0].steps") == "10");
    CHECK(value(report, "gpus[0].idle_ns") == "68000000");
    CHECK_THAT(text_of(report), Contains("all else is of the whole run"));
    options.from_step = 300;  // none of these is timed
    options.to_step = {};
    const Report later = report_of(made, options);
    CHECK(value(later, "gpus[0].idle_ns") == "");
    CHECK_THAT(value(later, "gpus[0].why"), Contains("none of these steps was timed as a whole"));
    CHECK(unexplained(later) == "");
}

TEST_CASE("redacted, no name is left, and the same name has the same hash", "[report]") {
    const MadeRun made;
    ReportOptions options;
    options.redact = true;
    const Report report = report_of(made, options), again = report_of(made, options);
    const std::string all = text_of(report) + report.json.text();
    for (const char* name : {"secret", kGemm, "sgd_step"}) CHECK_THAT(all, !Contains(name));
    CHECK_THAT(all, Contains("kernel-") && Contains("host-") && Contains("program-"));
    CHECK(all == text_of(again) + again.json.text());
    CHECK_THAT(text_of(report_of(made)), Contains(kGemm) && Contains("secret_train.py"));
}

TEST_CASE("64 ranks fit on a screen or two, the worst first", "[report]") {
    for (const int ranks : {1, 2, 64}) {
        RunShape shape;
        shape.ranks = ranks;
        const MadeRun made(shape);
        const Report report = report_of(made);
        INFO(text_of(report));
        CHECK(as_text(report).size() <= 57);  // and 5 for what only traces say
        if (ranks == 64) CHECK_THAT(text_of(report), Contains("… and 58 more: --json has them all"));
        CHECK(asked(report, "SELECT json_array_length(?1, '$.gpus')") == std::to_string(ranks));
    }
}

TEST_CASE("causes in SQL are those of the code, in the same groups", "[report]") {
    const MadeRun made;
    const Database run = made.open();
    for (const CauseRow& row : kCauses) {
        Query one = run.prepare("SELECT cause_group FROM idle_cause WHERE cause = ?1");
        one.bind(1, std::string(row.name));
        REQUIRE(one.step());
        CHECK(one.text(0) == name_of(row.group));
    }
    Query count = run.prepare("SELECT count(*) FROM idle_cause");
    count.step();
    CHECK(count.number(0) == static_cast<int64_t>(std::size(kCauses)));
}

}  // namespace report_test
