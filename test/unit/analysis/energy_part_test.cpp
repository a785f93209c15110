// What GPUs drew, by their counters: of the time of the steps, and nothing where two readings are not there.
#include "analysis/run/parts/own_parts.h"
#include "made_facts.h"

#include <catch2/catch.hpp>

namespace energy_part_test {

using namespace made;

namespace {

constexpr int64_t kSecond = 1'000'000'000;

void sample(MadeFacts& made, int64_t seconds, const char* key, int64_t value, int64_t device = 0) {
    made.made.run("INSERT INTO nvml VALUES (" + std::to_string(seconds * kSecond) + ", " +
                  std::to_string(device) + ", '" + key + "', " + std::to_string(value) + ")");
}

std::string written(MadeFacts& made, int64_t gpu = 0) {
    Written written;
    all_of(make_energy_part(made.facts), made, {}, written);
    return written.ask(
        "SELECT energy_j, span_ns, power_limit_w, why, most_j, most_span_ns FROM gpu_energy WHERE gpu_id = " +
        std::to_string(kGpu + gpu));
}

}  // namespace

// steps         |───────────────────|
// counter  0 J  100 J   350 J   700 J   2000 J      600 J in 2 s
TEST_CASE("energy is what the counter rose by while steps ran", "[energy_part]") {
    MadeFacts made;
    made.step(kSecond, 2 * kSecond);
    made.step(2 * kSecond, 3 * kSecond);
    for (const auto& [at, mj] : {std::pair(0, 0), {1, 100'000}, {2, 350'000}, {3, 700'000}, {4, 2'000'000}})
        sample(made, at, "energy_mj", mj);
    sample(made, 2, "power_limit_mw", 700'000);
    CHECK(written(made) == "600.0 2000000000 700.0 - - -");
}

TEST_CASE("without two readings there is no energy, and it is said why", "[energy_part]") {
    MadeFacts made(4);
    made.step(kSecond, 3 * kSecond);
    sample(made, 2, "energy_mj", 100'000, 0);  // one
    sample(made, 4, "energy_mj", 200'000, 0);  // the steps are over
    sample(made, 2, "power_mw", 100'000, 1);   // no counter
    sample(made, 1, "energy_mj", 900'000, 2);  // the driver was loaded again
    sample(made, 2, "energy_mj", 50'000, 2);
    sample(made, 1, "energy_mj", 0, 3);  // no limit is told; nothing was drawn
    sample(made, 2, "energy_mj", 0, 3);
    CHECK(written(made, 0) == "- - - fewer than two samples of NVML lie within the steps 100.0 1000000000");
    CHECK(written(made, 1) == "- - - NVML told no energy: not recorded - -");
    CHECK(written(made, 2) == "- - - the counter of energy went back - -");
    CHECK(written(made, 3) == "0.0 1000000000 - - - -");
}

// steps          2.0 |───────────| 3.0
// samples    1         2.5             4       of one, what was drawn before and after counts as theirs, too
TEST_CASE("of samples around the steps the energy is at most what was drawn between them", "[energy_part]") {
    MadeFacts made(3);
    made.step(2 * kSecond, 3 * kSecond);
    sample(made, 1, "energy_mj", 100'000, 0);
    sample(made, 4, "energy_mj", 400'000, 0);
    sample(made, 4, "energy_mj", 400'000, 1);  // one alone
    sample(made, 3, "energy_mj", 100'000, 2);  // both when the steps were over
    sample(made, 4, "energy_mj", 400'000, 2);
    const std::string why = "- - - fewer than two samples of NVML lie within the steps ";
    CHECK(written(made, 0) == why + "300.0 1000000000");
    CHECK(written(made, 1) == why + "- -");
    CHECK(written(made, 2) == why + "- -");
}

}  // namespace energy_part_test
