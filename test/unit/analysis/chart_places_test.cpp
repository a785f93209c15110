#include "analysis/chart/bar_chart.h"
#include "analysis/chart/heat_map.h"
#include "analysis/chart/line_chart.h"
#include "analysis/chart/stacked_bars.h"
#include "drawn.h"

#include <cmath>

// Where drawings draw what.
namespace chart_places_test {

using namespace gpushim::analysis;
using namespace drawn;

TEST_CASE("a bar is as long as its amount, begins where the one before ends, and tells it", "[chart]") {
    const StackedBars chart = {
        {"b", "t", "d"}, axis("ns"), {{"one", 0}, {"two", 1}}, {{"a", {1e6, 3e6}}, {"b", {2e6, 0}}}};
    const std::string drawn = on_desk(stacked_bars(chart));
    const std::vector<Rect> bars = parts_of(drawn);
    REQUIRE(bars.size() == 3);
    CHECK(bars[1].width == Approx(3 * bars[0].width).margin(0.05));
    CHECK(bars[2].width == Approx(2 * bars[0].width).margin(0.05));
    CHECK(bars[1].x == Approx(bars[0].x + bars[0].width).margin(0.05));
    CHECK(bars[2].x == bars[0].x);
    CHECK(bars[1].y == bars[0].y);
    CHECK(bars[2].y >= bars[0].y + bars[0].height);
    for (const char* words : {">one 1.00 ms<", ">two 3.00 ms<", ">one 2.00 ms<"}) {
        INFO(words << drawn);
        CHECK(count_of(drawn, words) == 1);
    }
}

TEST_CASE("a line goes through its values, its range is around them, and a rule stands where it says",
          "[chart]") {
    LineChart chart = {{"c", "t", "d"}, axis("step"), axis("ns"), {{"a", 0, {}}}, {{4, "here"}}};
    for (int i = 0; i < 5; ++i)
        chart.series[0].points.push_back({2.0 * i, 10.0 * i, 10.0 * i - 5, 10.0 * i + 20, "", false});
    const std::string drawn = on_desk(line_chart(chart));
    const auto line = points_of(drawn, "line"), range = points_of(drawn, "range");
    REQUIRE(line.size() == 5);
    REQUIRE(range.size() == 10);
    const double one = (line[0].second - line[4].second) / 40;  // of a value; upwards
    CHECK(one > 0);
    for (size_t i = 0; i < 5; ++i) {
        CHECK(line[i].second == Approx(line[0].second - 10 * one * double(i)).margin(0.05));
        CHECK(line[i].first ==
              Approx(line[0].first + (line[4].first - line[0].first) / 4 * double(i)).margin(0.05));
        CHECK(range[i].second == Approx(line[i].second - 20 * one).margin(0.05));
        CHECK(range[9 - i].second == Approx(line[i].second + 5 * one).margin(0.05));
    }
    double x = 0;
    const size_t rule = drawn.rfind("<line x1=", drawn.find("class=\"rule\""));
    REQUIRE(std::sscanf(drawn.c_str() + rule, "<line x1=\"%lf", &x) == 1);
    CHECK(x == Approx(line[2].first));
}

TEST_CASE("cells of a heat map are as dark as they are large", "[chart]") {
    const HeatMap map = {{"h", "t", "d"},
                         "step",
                         {"1", "2", "3", "4"},
                         {{"rank 0", "rank 0: all", {0, 0, 8, kUnknown}}, {kNasty, kNasty, {7, 7, 7, 7}}},
                         duration_text};
    const std::string drawn = on_desk(heat_map(map));
    for (const char* level : {"h0", "h3", "h7"})  // in the legend
        CHECK(count_of(drawn, std::string("class=\"level ") + level + "\"") == 1);
    CHECK(count_of(drawn, "class=\"cells h7\"") == 1);
    const size_t from = drawn.find("<path");
    const std::string path = drawn.substr(from, drawn.find("class=\"cells h0\"") - from);
    CHECK(count_of(path, "M") == 1);
    const auto dark = points_of(drawn, "cells h7"), pale = points_of(drawn, "cells h0");
    REQUIRE(dark.size() == 2);
    REQUIRE(pale.size() == 1);
    CHECK(dark[0].second == pale[0].second);  // of one rank, two cells on
    CHECK(dark[0].first > pale[0].first);
    CHECK(dark[1].second > dark[0].second);
    CHECK(dark[1].first == pale[0].first);
    for (int floor = 1; floor < 8; ++floor)
        CHECK(count_of(drawn, "</svg>from " + std::to_string(floor) + " ns<") == 1);
    CHECK(count_of(drawn, "<img") == 0);
}

TEST_CASE("bars of a histogram stand on the axis", "[chart]") {
    const BarChart chart = {{"h", "t", "d"},
                            {"how long", duration_text, true},
                            {"", duration_text, false, true},
                            {{1000, 2000, 0.25}, {2000, 4000, 0.75}}};
    const std::string drawn = on_desk(bar_chart(chart));
    CHECK(count_of(drawn, "class=\"part f0\"") == 2);
    CHECK(drawn.find("1.00 us to 2.00 us: ") != std::string::npos);
    const std::vector<Rect> bars = parts_of(drawn);
    REQUIRE(bars.size() == 2);
    CHECK(bars[0].y + bars[0].height == Approx(bars[1].y + bars[1].height).margin(0.05));
    CHECK(bars[1].height == Approx(3 * bars[0].height).margin(0.1));
    CHECK(bars[1].x == Approx(bars[0].x + bars[0].width).margin(0.05));
    CHECK(bars[1].width == Approx(bars[0].width).margin(0.05));  // both from one to twice that
}

}  // namespace chart_places_test
