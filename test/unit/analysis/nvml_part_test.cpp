// What NVML's samples say of clocks: of a GPU in which nothing ran none says how quick it is.
#include "analysis/run/parts/own_parts.h"
#include "made_facts.h"

#include <catch2/catch.hpp>

namespace nvml_part_test {

using namespace made;

namespace {

constexpr int64_t kSecond = 1'000'000'000;
constexpr int kNothingRan = 1, kHeat = 32;

void sample(MadeFacts& made, int64_t at_ns, int reasons, int64_t mhz) {
    for (const auto& [key, value] : {std::pair("throttle_reasons", int64_t{reasons}),
                                     {"sm_mhz", mhz},
                                     {"power_mw", 100'000},
                                     {"temperature_c", 50}})
        made.made.run("INSERT INTO nvml VALUES (" + std::to_string(at_ns) + ", 0, '" + key + "', " +
                      std::to_string(value) + ")");
}

}  // namespace

// steps         1 |──────| 2 |──────────────| 3 |──────|
// sample    210      1980      210     1400      1980       210: nothing ran, as its reasons say
TEST_CASE("the clock of a sample in which nothing ran is of no step", "[nvml_part]") {
    MadeFacts made;
    made.step(kSecond, 2 * kSecond);
    made.step(2 * kSecond, 4 * kSecond);
    made.step(4 * kSecond, 5 * kSecond);
    sample(made, kSecond / 2, kNothingRan, 210);  // before the steps
    sample(made, kSecond * 3 / 2, 0, 1980);
    sample(made, kSecond * 5 / 2, kNothingRan, 210);
    sample(made, kSecond * 7 / 2, kHeat, 1400);
    sample(made, kSecond * 9 / 2, 0, 1980);
    Written written;
    all_of(make_nvml_part(made.facts), made, {}, written);
    CHECK(written.ask("SELECT group_concat(step || ' ' || coalesce(sm_mhz, 'none') || ' ' || power_w, ', ')"
                      " FROM step_nvml") == "0 1980.0 100.0, 1 none 100.0, 1 1400.0 100.0, 2 1980.0 100.0");
    CHECK(written.ask("SELECT samples, idle_samples, throttled_samples, free_sm_mhz, throttled_sm_mhz FROM "
                      "nvml_stat") == "4 1 1 1980.0 1400.0");
    CHECK(written.ask("SELECT reason, samples FROM throttle") == "thermal 1");
}

}  // namespace nvml_part_test
