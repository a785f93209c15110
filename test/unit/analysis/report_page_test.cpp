#include "analysis/page/part.h"
#include "box.h"
#include "made_run.h"
#include "repeats.h"

namespace report_page_test {

using namespace gpushim::analysis;

namespace {

std::string page_of(const made::MadeRun& made, const ReportOptions& options = {}) {
    const Database run = made.open();
    const ReportSource source = {run, nullptr, options};
    return report_page(source, write_report(source));
}

bool has(const std::string& page, const std::string& words) { return page.find(words) != std::string::npos; }

size_t count_of(const std::string& text, const std::string& part) {
    size_t count = 0;
    for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
    return count;
}

}  // namespace

TEST_CASE("a page has the report's figures first", "[report_page]") {
    const std::string page = page_of(made::MadeRun());
    CHECK(count_of(page.substr(0, page.find("<nav")), "SIMULATED") == 1);
    CHECK(has(page, "<dt>Step, median</dt><dd class=\"figure\">20.0 ms</dd>"));
    CHECK(has(page, "<dt>AllReduce per step</dt><dd class=\"figure\">254 us</dd>"));
    CHECK(has(page, "expected 234 us (1.09x)"));
    CHECK(has(page, "<dt>Straggler</dt><dd class=\"figure\">rank 1</dd>"));
    // Every 18th step takes 21.3 ms, which is less than 1.2 times the median.
    CHECK(count_of(page, "class=\"mark\"") == 0);
    CHECK(has(page, "rank 0: idle 34 %"));
    CHECK(has(page, "rank 0: input 4.80 ms"));
    CHECK(has(page, "id=\"own-work\""));
    CHECK(has(page, "id=\"step-parts-1\""));
    CHECK(has(page, "idle: input 4.80 ms"));
}

TEST_CASE("there are no cards of keys that were not given", "[report_page]") {
    const std::string page = page_of(made::MadeRun());
    for (const char* name : {"Samples per second", "MFU", "Lost a day"})
        CHECK_FALSE(has(page, "<dt>" + std::string(name) + "</dt>"));
    ReportOptions options;
    options.samples_per_step = 64;
    options.flops_per_sample = 1'000'000'000;
    options.price_per_gpu_hour = 2.5;
    const std::string asked = page_of(made::MadeRun(), options);
    for (const char* name : {"Samples per second", "MFU", "Lost a day"})
        CHECK(has(asked, "<dt>" + std::string(name) + "</dt>"));
    CHECK(has(asked, "at $2.50 an hour of a GPU"));
}

TEST_CASE("a GPU that is alone has no cards of what ranks do together", "[report_page]") {
    made::RunShape shape;
    shape.ranks = 1;
    shape.collectives = false;
    const std::string page = page_of(made::MadeRun(shape));
    CHECK(has(page, "<dt>Step, median</dt>"));
    CHECK_FALSE(has(page, "<dt>Straggler</dt>"));
    CHECK_FALSE(has(page, "<dt>AllReduce per step</dt>"));
}

TEST_CASE("without steps and device times a page says what is not recorded", "[report_page]") {
    made::RunShape shape;
    shape.steps = false;
    shape.device_times = false;
    const std::string page = page_of(made::MadeRun(shape));
    CHECK(has(page, "<dt>Step</dt><dd class=\"figure\">not recorded</dd>"));
    CHECK(has(page, "<p class=\"missing\">nothing recurs</p>"));
    CHECK(count_of(page, "class=\"missing\"") >= 5);
    CHECK_FALSE(has(page, "id=\"own-work\""));
    CHECK_FALSE(has(page, "id=\"gpu-idle\""));
    CHECK_FALSE(has(page, "id=\"step-parts-0\""));
}

TEST_CASE("a page that is redacted names nobody", "[report_page]") {
    ReportOptions options;
    CHECK(has(page_of(made::MadeRun(), options), "secret"));
    options.redact = true;
    CHECK_FALSE(has(page_of(made::MadeRun(), options), "secret"));
}

TEST_CASE("a page of a thousand ranks is below 2 MB and says what it leaves out", "[report_page]") {
    made::RunShape shape;
    shape.ranks = repeats(1000, 200);
    shape.all_steps = 30;
    shape.timed_steps = 8;
    const std::string page = page_of(made::MadeRun(shape));
    CHECK(page.size() > 100'000);
    CHECK(page.size() < 2'000'000);
    CHECK(has(page, "The 24 of " + std::to_string(shape.ranks) + " GPUs that lose the most"));
    CHECK(has(page, "A row is several ranks"));
    CHECK(has(page, repeats("rank 0 to 15", "rank 0 to 3")));
}

}  // namespace report_page_test
