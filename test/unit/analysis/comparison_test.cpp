#include "analysis/compare/comparison.h"

#include <catch2/catch.hpp>

#include "analysis/compare/comparison_report.h"
#include "analysis/report/printed.h"
#include "made_side.h"
#include "repeats.h"

namespace comparison_test {

using namespace gpushim::analysis;

namespace {

Comparison compared(double noise, double slower, uint64_t seed, double threshold = 0.01) {
    return compare(made::side("a", made::waves(1e6, noise, seed)),
                   made::side("b", made::waves(1e6 * (1 + slower), noise, seed + 1000)), threshold);
}

// Of a hundred pairs, how many are said to be slower, or anything but the same; of fewer the same part.
int of_a_hundred(double noise, double slower, bool only_slower) {
    constexpr int kPairs = repeats(100, 10);
    int said = 0;
    for (uint64_t seed = 1; seed <= kPairs; ++seed) {
        const Verdict verdict = compared(noise, slower, seed).verdict;
        said += only_slower ? verdict == Verdict::kSlower
                            : verdict == Verdict::kSlower || verdict == Verdict::kFaster;
    }
    return said * 100 / kPairs;
}

}  // namespace

TEST_CASE("the median of steps, and for how long they stay above or below it", "[compare]") {
    CHECK(median_of(std::vector<int64_t>{5, 1, 3}) == 3);
    CHECK(median_of(std::vector<int64_t>{5, 1, 3, 4}) == 3.5);
    CHECK(memory_of(std::vector<int64_t>(50, 8)) == 1);
    CHECK(memory_of(made::waves(1e6, 0.01, 1, 4000, 0)) < 1.5);
    CHECK(memory_of(made::waves(1e6, 0.01, 1, 4000, 0.9)) > 6);
}

TEST_CASE("a shift has bounds that hold it, and needs enough steps", "[compare]") {
    const auto base = made::waves(1e6, 0.01, 1), now = made::waves(1.05e6, 0.01, 2);
    const auto shift = shift_of(base, now);
    REQUIRE(shift);
    CHECK(shift->low_ns < 50'000);
    CHECK(shift->high_ns > 50'000);
    CHECK(shift->low_ns > 30'000);
    CHECK(shift->block > kShortestBlock);  // neighbours are alike
    CHECK_FALSE(shift_of(base, std::span(now).first(39)));
    CHECK(shift_of(base, std::span(now).first(40)));
    const auto again = shift_of(base, now);
    CHECK(again->low_ns == shift->low_ns);
}

// Neighbouring steps with a correlation of 0.9: 400 of them say what 21 would, were they independent.
TEST_CASE("few steps that lie far apart are told apart", "[comparison]") {
    // Nine tenths of either: of ten all but the shortest and the longest.
    const std::vector<int64_t> base = {100, 101, 99, 100, 100, 102, 98, 100, 100, 400};
    const std::vector<int64_t> now = {130, 131, 129, 130, 130, 132, 128, 130, 130, 10};
    const auto far = far_shift_of(base, now);
    REQUIRE(far);
    CHECK(far->base_ns == 100);
    CHECK(far->new_ns == 130);
    CHECK(far->low_ns == 128 - 102);
    CHECK(far->high_ns == 131 - 99);
    CHECK(far_shift_of(now, base)->shift_ns() == -30);
    // 1.2 times is the least; fewer than five are none.
    const std::vector<int64_t> near(10, 122);
    CHECK_FALSE(far_shift_of(base, near));
    CHECK(far_shift_of(base, std::vector<int64_t>(10, 123)));
    CHECK_FALSE(far_shift_of(std::span(base).first(4), now));
}

TEST_CASE("waves are no change, and a change is found in them", "[compare]") {
    CHECK(of_a_hundred(0.01, 0, false) <= 1);
    CHECK(of_a_hundred(0.01, 0.03, true) >= 95);
}

TEST_CASE("where steps vary too much nobody can tell", "[compare]") {
    const Comparison is = compared(0.2, 0, 1);
    CHECK(is.verdict == Verdict::kInconclusive);
    CHECK(is.why.find("vary too much") != std::string::npos);
}

TEST_CASE("a change below the threshold is none, whatever the bounds say", "[compare]") {
    CHECK(compared(0.0001, 0.02, 1, 0.03).verdict == Verdict::kSame);
    CHECK(compared(0.0001, 0.04, 1, 0.03).verdict == Verdict::kSlower);
    CHECK(compared(0.0001, -0.04, 1, 0.03).verdict == Verdict::kFaster);
}

TEST_CASE("the parts of a shift add up to it, and the largest is its cause", "[compare]") {
    const auto base =
        made::side("a", std::vector<int64_t>(40, 1000), {{"compute", 700}, {"idle: sync", 280}});
    const auto now = made::side("b", std::vector<int64_t>(40, 1100),
                                {{"compute", 660}, {"idle: sync", 300}, {"copies", 110}});
    const Comparison is = compare(base, now);
    CHECK(is.verdict == Verdict::kSlower);
    REQUIRE(is.cause() != nullptr);
    CHECK(is.cause()->name == "copies");
    double sum_ns = 0;
    for (const PartShift& part : is.parts) sum_ns += part.shift_ns();
    CHECK(sum_ns == Approx(100));
    CHECK(is.parts.front().name == "copies");
    CHECK(is.parts.back().name == kRest);
    CHECK(is.parts.back().shift_ns() == Approx(10));
}

TEST_CASE("what forbids to compare comes before any verdict", "[compare]") {
    const auto slow = std::vector<int64_t>(40, 2000), quick = std::vector<int64_t>(40, 1000);
    const Comparison other = compare(made::side("a", quick), made::side("b", slow, {}, "H200"));
    CHECK(other.verdict == Verdict::kInconclusive);
    CHECK(other.changes.front().words() == "GPU H200 (was H100)");
    Side missing = made::side("b", slow);
    missing.ranks_expected = 2;
    const Comparison half = compare(made::side("a", quick), missing);
    CHECK(half.verdict == Verdict::kInconclusive);
    CHECK(half.why.find("2 ranks expected, 1 seen") != std::string::npos);
    Side tagged = made::side("b", slow);
    tagged.around.push_back({"tag", "commit", "b2"});
    const Comparison named = compare(made::side("a", quick), tagged);
    CHECK(named.verdict == Verdict::kSlower);
    CHECK(named.changes.front().words() == "tag commit b2 (was unset)");
}

TEST_CASE("the steps that both runs have most of are compared", "[compare]") {
    Side base = made::side("a", std::vector<int64_t>(100, 1000)), now = made::side("b", {});
    // The new run evaluates in between: half of its steps are others, and shorter.
    std::vector<int64_t> mixed;
    for (int i = 0; i < 200; ++i) mixed.push_back(i % 2 == 0 ? 400 : 1000);
    now.groups = {made::group(mixed), made::group(std::vector<int64_t>(100, 1000), {}, 7),
                  made::group(std::vector<int64_t>(100, 400), {}, 9)};
    CHECK(compare(base, now).verdict == Verdict::kSame);
    now.groups[1].signature = 8;
    CHECK(compare(base, now).matched.find("different operations") != std::string::npos);
    now.groups.clear();
    now.why_no_steps = "nothing recurs";
    CHECK(compare(base, now).why == "NEW has no steps: nothing recurs");
}

TEST_CASE("a step of more samples is compared at as many", "[compare]") {
    Side base = made::side("a", std::vector<int64_t>(40, 1000)),
         now = made::side("b", std::vector<int64_t>(40, 1900));
    base.samples_per_step = 32;
    now.samples_per_step = 64;
    const Comparison is = compare(base, now);
    CHECK(is.verdict == Verdict::kFaster);
    CHECK(is.shift->new_ns == 950);
}

TEST_CASE("kernels that came, went and changed", "[compare]") {
    Side base = made::side("a", std::vector<int64_t>(40, 1000)), now = base;
    base.kernels = {{"gone", {1, 100}}, {"same", {2, 50}}, {"longer", {3, 300}}, {"untimed", {1, {}}}};
    now.kernels = {{"new", {1, 30}}, {"same", {2, 50}}, {"longer", {3, 350}}, {"untimed", {2, {}}}};
    const Comparison is = compare(base, now);
    std::string names;
    for (const KernelShift& kernel : is.kernels) names += kernel.name + " ";
    CHECK(names == "gone longer new untimed ");
    CHECK_FALSE(is.kernels.back().shift_ns());
    Report report;
    write_comparison(base, now, is, report);
    CHECK(report.json.text().find("\"change\": \"gone\"") != std::string::npos);
}

}  // namespace comparison_test
