#include "analysis/terminal/progress.h"

#include <catch2/catch.hpp>

namespace progress_test {

using namespace gpushim::analysis;

TEST_CASE("how far it is, and what is left at the pace so far", "[progress]") {
    CHECK(how_far_text(0, 100, 2) == "0 %");
    CHECK(how_far_text(1, 100, 2) == "1 %");  // too early to tell
    CHECK(how_far_text(25, 100, 4) == "25 %, 12 s left");
    CHECK(how_far_text(50, 100, 240) == "50 %, 4 min left");
    CHECK(how_far_text(50, 100, 8100) == "50 %, 2 h 15 min left");
    CHECK(how_far_text(100, 100, 9) == "99 %, 1 s left");
    CHECK(how_far_text(99, 100, 1e-3) == "99 %, 1 s left");
}

TEST_CASE("what nobody knows is not guessed", "[progress]") {
    CHECK(how_far_text(5, 0, 12) == "12 s so far");
    CHECK(how_far_text(150, 100, 12) == "99 %");  // more than was expected: nobody knows how much
}

TEST_CASE("places are counted from one", "[progress]") { CHECK(nth_of("run", 1, 5) == "run 2 of 5"); }

TEST_CASE("without a terminal nothing is counted, and nothing breaks", "[progress]") {
    const Progress outer("outer"), inner("inner");
    Progress::expect(3);
    ProgressPart part(2);
    ProgressCount count;
    ++count;
    Progress::done(1);
    const BesideProgress beside;
}

}  // namespace progress_test
