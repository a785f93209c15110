// Idle time in the program's own ranges, as rows.
#include "analysis/run/busy/idle_range_rows.h"

#include "busy_scene.h"

#include <catch2/catch.hpp>
#include <vector>

namespace idle_range_rows_test {

using namespace busy_scene;

TEST_CASE("idle time in ranges is summed by steps that count and others", "[idle_range_rows]") {
    TraceFacts facts = facts_of(1, 1);
    facts.steps.resize(3);
    facts.steps[0].is_warm_up = true;
    IdleRangeRows rows(facts);
    rows.add(0, {{{0, Cause::callback, 0}, {5, 5}}, {{1, Cause::callback, 0}, {7, 3}}});
    rows.add(0, {{{2, Cause::callback, 0}, {7, 3}}, {{kNoStep, Cause::sync, 1}, {9, 0}}});
    Asked asked;
    const std::vector<OwnRangeName> names = {{{}, "log"}, {"a library", {}}};
    rows.write(asked.run(), names);
    CHECK(asked.rows("SELECT * FROM idle_range ORDER BY steps") ==
          "10|counted|callback|NULL|log|14|6, 10|none|sync|a library|NULL|9|0, "
          "10|others|callback|NULL|log|5|5");
}

}  // namespace idle_range_rows_test
