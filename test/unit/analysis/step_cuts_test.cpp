// Known spans cut at steps, and unions by segment.
#include "analysis/run/pass/step_cuts.h"

#include <catch2/catch.hpp>
#include <random>
#include <string>

namespace step_cuts_test {

using namespace gpushim::analysis;

namespace {

std::string text(const std::vector<Segment>& segments) {
    std::string all;
    for (const Segment& segment : segments)
        all += std::to_string(segment.step) + ":" + std::to_string(segment.from_ns) + "-" +
               std::to_string(segment.until_ns) + " ";
    return all;
}

}  // namespace

//  known   |10                    100|
//  steps  5────20 20──30 30─50  70─80  90────120
TEST_CASE("a known span is cut where whole steps begin and end", "[step_cuts]") {
    const WholeStep steps[] = {{0, {5, 20}}, {1, {20, 30}}, {2, {30, 50}}, {3, {70, 80}}, {4, {90, 120}}};
    const auto segments = cut_at_steps({10, 100}, steps);
    CHECK(text(segments) == "-1:10-20 1:20-30 2:30-50 -1:50-70 3:70-80 -1:80-100 ");
    CHECK(boundaries_of(segments) == std::vector<int64_t>{20, 30, 50, 70, 80});
    CHECK(cut_at_steps({10, 10}, steps).empty());
    CHECK(text(cut_at_steps({20, 50}, steps)) == "1:20-30 2:30-50 ");
    SegmentCursor cursor(segments);
    CHECK(cursor.at(5) == 6);
    CHECK(cursor.at(10) == 0);
    CHECK(cursor.at(29) == 1);
    CHECK(cursor.at(99) == 5);
    CHECK(cursor.at(100) == 6);
}

TEST_CASE("unions by segment are those of the spans in any near order", "[step_cuts][random]") {
    std::mt19937_64 random(11);
    const auto below = [&](int64_t n) { return static_cast<int64_t>(random() % static_cast<uint64_t>(n)); };
    std::vector<WholeStep> steps;
    for (int32_t i = 0; i < 100; ++i) steps.push_back({i, {700 * i + 50, 700 * i + 50 + 200 + below(450)}});
    const auto segments = cut_at_steps({30, 69'000}, steps);
    UnionBySegment sums(segments);
    std::vector<Interval> all;
    for (int64_t t = 0; t < 70'000; t += below(12)) {
        const int64_t start = t + below(below(9) == 0 ? 1000 : 30);
        all.push_back({start, start - 1 + below(20)});
        sums.add(all.back().start_ns, all.back().end_ns);
    }
    const Intervals united = unite(all);
    const auto& ns = sums.finish();
    for (size_t i = 0; i < segments.size(); ++i)
        REQUIRE(ns[i] == length_ns(clip(united, {segments[i].from_ns, segments[i].until_ns})));
}

TEST_CASE("a span that comes too late counts where nothing is settled", "[step_cuts]") {
    const auto segments = cut_at_steps({0, 100'000}, {});
    UnionBySegment sums(segments);
    for (int64_t t = 0; t < 600; ++t) sums.add(100 * t, 100 * t + 10);
    sums.add(0, 59'910);  // the first 256 are settled, up to 25,510
    CHECK(sums.finish()[0] == 256 * 10 + 59'910 - 25'510);
}

}  // namespace step_cuts_test
