#include "engine/knobs.h"

#include "box.h"
#include "must_end.h"

namespace knobs_test {

using namespace gpusim;

TEST_CASE("knobs have defaults", "[knobs]") {
    CHECK(knobs().devices == 1);
    CHECK(knobs().name == "GPU");
    CHECK(knobs().launch_ns == 4000);
    CHECK(knobs().h2d_gbs == 25.0);
    CHECK(knobs().truth.empty());
}

TEST_CASE("knobs come from the environment", "[knobs]") {
    ::box::knobs(
        "GPUSIM_DEVICES=3 GPUSIM_KERNEL_US=2.5 GPUSIM_NAME=A/B GPUSIM_CLOCK=stepped GPUSIM_MEMORY_GB=");
    CHECK(knobs().devices == 3);
    CHECK(knobs().kernel_us == 2.5);
    CHECK(knobs().name == "A/B");
    CHECK(knobs().clock == "stepped");
    CHECK(knobs().memory_gb == 16);
}

TEST_CASE("knobs are read once", "[knobs]") {
    CHECK(knobs().devices == 1);
    setenv("GPUSIM_DEVICES", "5", 1);
    CHECK(knobs().devices == 1);
}

TEST_CASE("knobs that cannot be understood end the program with one line", "[knobs][no_emulator]") {
    const auto knob = GENERATE("GPUSIM_DEVICES=two", "GPUSIM_DEVICES=-1", "GPUSIM_DEVICES=2x",
                               "GPUSIM_KERNEL_US=fast", "GPUSIM_CLOCK=sundial", "GPUSIM_EXIT=never");
    const auto ended = end_of_this_program_with(knob);
    CHECK(ended.status == 2);
    CHECK(ended.error.find(std::string(knob) + " cannot be understood") != std::string::npos);
    CHECK(std::count(ended.error.begin(), ended.error.end(), '\n') == 1);
}

TEST_CASE("patterns of file names know process and rank", "[knobs]") {
    const std::string pid = std::to_string(getpid());
    CHECK(expand_pattern("t.%p.%r.%%.%q%") == "t." + pid + ".x.%.%q%");
    setenv("PMI_RANK", "6", 1);
    CHECK(environment_rank() == 6);
    setenv("RANK", "4", 1);
    CHECK(environment_rank() == 4);
    CHECK(expand_pattern("%r") == "4");
}

}  // namespace knobs_test
