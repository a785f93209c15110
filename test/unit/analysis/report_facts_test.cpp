// Objects of the JSON say why something is null; ranges of a GPU's shares.
#include <catch2/catch.hpp>

#include "analysis/report/facts.h"
#include "analysis/report/gpu_figures.h"

namespace report_facts_test {

using namespace gpushim::analysis;

TEST_CASE("what is null says why, and where there are several reasons, of what each is", "[report_facts]") {
    const std::optional<int64_t> none;
    CHECK(Facts().known("a", 1).maybe("b", std::optional<int64_t>(2), "no").json().text() ==
          "{\"a\": 1, \"b\": 2}");
    CHECK(Facts().maybe("a", none, "no clock").maybe("b", none, "no clock").json().text() ==
          "{\"a\": null, \"b\": null, \"why\": \"no clock\"}");
    CHECK(Facts().maybe("a", none, "no").maybe("b", none, "one GPU").maybe("c", none, "no").json().text() ==
          "{\"a\": null, \"b\": null, \"c\": null, \"why\": \"a, c: no; b: one GPU\"}");
    CHECK(Facts().between("a", 0.5, 0.25, 0.75, "").json().text() ==
          "{\"a\": 0.5, \"a_low\": 0.25, \"a_high\": 0.75}");
    CHECK(Facts().between("a", {}, {}, 0.75, "no").json().text() ==
          "{\"a\": null, \"a_high\": 0.75, \"why\": \"no\"}");
}

TEST_CASE("shares keep two digits where they are small", "[report_facts]") {
    CHECK(percent_text(0.34) == "34.0 %");
    CHECK(percent_text(0.004) == "0.40 %");
    CHECK(percent_text(0) == "0.0 %");
    CHECK(percent_text(1) == "100.0 %");
    CHECK(sure_text(0.996) == "99 % sure");
    CHECK(sure_text(0.29) == "29 % sure");
    CHECK(sure_text(1) == "100 % sure");
    CHECK(!share_of(1, 0));
    CHECK(share_of(1, 4) == 0.25);
}

TEST_CASE("times have the unit of the longer one, as it is rounded", "[report_facts]") {
    CHECK(times_text(0, 999'999) == "up to 1.00 ms");
    CHECK(times_text(0, 999'499) == "up to 999 us");
    CHECK(times_text(500'000'000, 999'999'999) == "0.50–1.00 s");
    CHECK(times_text(150'000, 350'000) == "150–350 us");
}

//  step        1          2          3          4         busy of 10
//              ████████   ██████     ████████   ██████    8 6 8 6: 28 of 40, likely between 26 and 30
TEST_CASE("a range holds the bounds, and where little is timed how steps differ", "[report_facts]") {
    GpuFigures gpu = {};
    gpu.window_ns = 40;
    gpu.busy_ns = 28;
    gpu.idle_ns = 12;
    gpu.productive_ns = 20;
    gpu.waiting_ns = 8;
    gpu.busy_low_ns = 10;
    gpu.busy_high_ns = 40;
    gpu.busy_likely_low_ns = 26;
    gpu.busy_likely_high_ns = 30;
    for (const int64_t busy : {8, 6, 8, 6}) {
        gpu.parts_busy.push_back({busy, 10});
        gpu.parts_productive.push_back({5, 10});
        gpu.parts_waiting.push_back({2, 10});
    }
    CHECK(gpu.busy().share == Approx(0.7));
    CHECK(gpu.busy().low == Approx(0.65));
    CHECK(gpu.busy().high == Approx(0.75));
    CHECK(gpu.certainly_busy().low == Approx(0.25));
    CHECK(gpu.certainly_busy().high == Approx(1));
    CHECK(gpu.idle().low == Approx(0.25));
    CHECK(gpu.idle().high == Approx(0.35));
    CHECK(gpu.productive().low == Approx(0.45));
    CHECK(gpu.waiting().low == Approx(0.2));
    CHECK(gpu.waiting().high == Approx(0.2));
    // Each step a window: Student's t of 3 is 3.182, and √(4 · 4 / 3) / 40 · 3.182 is 0.184.
    gpu.sampled = true;
    gpu.windows = 4;
    CHECK(gpu.busy().low == Approx(0.516).margin(0.001));
    CHECK(gpu.busy().high == Approx(0.884).margin(0.001));
    CHECK(gpu.productive().low == Approx(0.45));
    // Two windows of two steps each that are alike: nothing but the bounds.
    gpu.windows = 2;
    CHECK(gpu.busy().low == Approx(0.65));
    // Steps are what they are, also beside a run that began with something else.
    gpu.basis = "steps";
    gpu.run_low = 0.6;
    gpu.run_high = 0.7;
    CHECK(gpu.busy().low == Approx(0.65));
    gpu.basis = "spans";
    CHECK(gpu.busy().low == Approx(0.6));
    CHECK(gpu.busy().high == Approx(0.75));
    gpu.sampled = false;
    CHECK(gpu.busy().low == Approx(0.65));
}

TEST_CASE("one window says nothing of the rest of the run", "[report_facts]") {
    GpuFigures gpu = {};
    gpu.window_ns = 40;
    gpu.busy_ns = gpu.busy_likely_low_ns = gpu.busy_likely_high_ns = 20;
    gpu.waiting_ns = 8;
    for (int i = 0; i < 4; ++i) {
        gpu.parts_busy.push_back({5, 10});
        gpu.parts_waiting.push_back({2, 10});
    }
    gpu.sampled = true;
    gpu.windows = 1;
    gpu.timed_share = 0.6;
    gpu.basis = "spans";
    CHECK(gpu.busy().share == Approx(0.5));
    CHECK(gpu.busy().low == Approx(0.3));
    CHECK(gpu.busy().high == Approx(0.7));
    CHECK(gpu.waiting().low == Approx(0.12));
    CHECK(gpu.waiting().high == Approx(0.52));
}

//  of 10 steps 1 is whole, in one of many windows; by all windows the run was busy for 24 to 26 %
TEST_CASE("few whole steps say no more of the others than the run does", "[report_facts]") {
    GpuFigures gpu = {};
    gpu.basis = "steps";
    gpu.window_ns = 100;
    gpu.busy_ns = gpu.busy_likely_low_ns = gpu.busy_likely_high_ns = gpu.productive_ns = 30;
    gpu.parts_busy = gpu.parts_productive = {{30, 100}};
    gpu.parts_waiting = {{0, 100}};
    gpu.windows = 20;
    CHECK(gpu.busy().high == Approx(0.3));  // all that was asked for
    gpu.sampled = true;
    gpu.timed_steps_share = 0.1;
    CHECK(gpu.busy().low == Approx(0.03));
    CHECK(gpu.busy().high == Approx(0.93));
    CHECK(gpu.productive().high == Approx(0.93));
    // The steps are 96 of 100 of the run: the rest of it was idle, or busy.
    gpu.run_low = 0.24;
    gpu.run_high = 0.26;
    CHECK(gpu.busy().low == Approx(0.03));
    gpu.steps_of_run = 0.96;
    CHECK(gpu.busy().low == Approx(0.20 / 0.96));
    CHECK(gpu.busy().high == Approx(0.30));  // with the figure itself
    CHECK(gpu.idle().low == Approx(0.70));
    CHECK(gpu.productive().high == Approx(0.30));
    // Many steps that are alike say more than the run's windows.
    gpu.parts_busy.assign(40, {30, 100});
    CHECK(gpu.busy().low == Approx(0.30));
}

TEST_CASE("causes either sum to the idle time or are not shown", "[report_facts]") {
    GpuFigures gpu = {};
    gpu.idle_ns = 12;
    gpu.idle_by_cause = {{"sync", 5}, {"tail", 7}};
    CHECK(gpu.causes_sum());
    gpu.idle_by_cause["tail"] = 6;
    CHECK(!gpu.causes_sum());
}

}  // namespace report_facts_test
