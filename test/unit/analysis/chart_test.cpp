#include "analysis/chart/column_chart.h"
#include "analysis/chart/heat_map.h"
#include "analysis/chart/line_chart.h"
#include "analysis/chart/page.h"
#include "analysis/chart/stacked_bars.h"
#include "analysis/chart/table.h"
#include "analysis/chart/timeline_chart.h"
#include "analysis/text/escape.h"
#include "analysis/text/sha256.h"
#include "analysis/text/units.h"
#include "box.h"
#include "drawn.h"

#include <cmath>

namespace chart_test {

using namespace gpushim::analysis;
using namespace drawn;

namespace {

const char* const kHarmless = "&lt;img src=x onerror=&#39;alert(1)&#39;&gt;&amp;&quot;\\x1b[2J";

}  // namespace

TEST_CASE("a text in markup is text, between tags and in attributes", "[chart]") {
    CHECK(for_html(kNasty) == kHarmless);
    CHECK(Markup(kNasty).html() == kHarmless);
    CHECK(element("p", {{"title", kNasty}}, kNasty).html() ==
          std::string("<p title=\"") + kHarmless + "\">" + kHarmless + "</p>");
    CHECK(element("td").html() == "<td></td>");
    CHECK(element("rect", {{"x", "1"}}).html() == "<rect x=\"1\"/>");
    CHECK(element("rect", {}, hint("a")).html() == "<rect><title>a</title></rect>");
}

TEST_CASE("coordinates are short and have no minus zero", "[chart]") {
    CHECK(coordinate(12) == "12");
    CHECK(coordinate(0.254) == "0.25");
    CHECK(coordinate(1.5) == "1.5");
    CHECK(coordinate(-0.001) == "0");
}

TEST_CASE("an axis of steps has no marks between them", "[chart]") {
    Scale steps = {551, 552, 0, 100};
    steps.whole = true;
    CHECK(steps.marks(8) == std::vector<double>{551, 552});
    // The only one, number 0, stands in the middle like any other.
    for (const double only : {0.0, 7.0}) {
        Extent extent;
        extent.take(only);
        Scale one = scale_of(extent, 20, 100, false, false);
        one.whole = true;
        CHECK(one.place(only) == Approx(60));
        CHECK(one.marks(8) == std::vector<double>{only});
    }
    steps = {0.5, 16.5, 0, 100};
    steps.whole = true;
    CHECK(steps.marks(8) == std::vector<double>{2, 4, 6, 8, 10, 12, 14, 16});
}

TEST_CASE("of a name that is too long for a bar both ends stay, and a hint has all of it", "[chart]") {
    StackedBars chart;
    chart.words = {"a", "b", "c"};
    chart.x = axis("x");
    chart.parts = {{"part", 0}};
    chart.bars = {{"sm80_gemm_" + std::string(40, 'x') + "_tn_7", {1}, ""}};
    const std::string html = on_desk(stacked_bars(chart));
    CHECK(count_of(html, ">sm80_gemm_" + std::string(40, 'x') + "_tn_7: part") == 1);
    CHECK(html.find("_tn_7</text>") != std::string::npos);
}

// values  0 ─── 10    0.1 ── 1 ── 10 ── 100
// places  0 ── 100
TEST_CASE("a scale places values and has round marks", "[chart]") {
    const Scale plain = {0, 10, 0, 100};
    CHECK(plain.place(5) == Approx(50));
    CHECK(plain.place(-3) == Approx(0));
    CHECK(plain.marks(5) == std::vector<double>{0, 2, 4, 6, 8, 10});
    const Scale powers = {0.1, 100, 0, 90, true};
    CHECK(powers.place(1) == Approx(30));
    const auto few = powers.marks(4), many = powers.marks(8);
    REQUIRE(few.size() == 4);
    CHECK(few[2] == Approx(10));
    REQUIRE(many.size() == 10);
    CHECK(many[1] == Approx(0.2));
    CHECK(Scale{0, 300, 0, 1, false, true}.marks(5) == std::vector<double>{0, 64, 128, 192, 256});
    CHECK(std::signbit(Scale{0, 7, 0, 1}.marks(4)[0]) == false);
    CHECK(scale_of({}, 0, 1, true, false).marks(4).size() >= 2);
    CHECK(scale_of({7, 7}, 0, 1, false, false).place(7) == Approx(0.5));
    CHECK(scale_of({0, 0}, 0, 1, false, true).high > 0);
    Extent extent;
    extent.take(kUnknown);
    CHECK(extent.is_empty());
}

TEST_CASE("a line is interrupted where a value is unknown, and what is marked has a shape", "[chart]") {
    LineChart chart = {{"c", kNasty, "d"}, axis("step"), axis("ns"), {{kNasty, 0, {}}}, {}};
    for (int i = 0; i < 6; ++i)
        chart.series[0].points.push_back(
            {double(i), i == 3 ? kUnknown : 10.0 * i, kUnknown, kUnknown, i == 5 ? kNasty : "", i == 5});
    const std::string drawn = on_desk(line_chart(chart));
    CHECK(count_of(drawn, "<path") == 2);
    const std::string path =
        drawn.substr(drawn.find("d=\"M"), drawn.find("\" class=\"line") - drawn.find("d=\"M"));
    CHECK(count_of(path, "M") == 2);
    CHECK(count_of(path, "L") == 3);
    CHECK(count_of(drawn, "class=\"mark\"") == 1);
    CHECK(count_of(drawn, "<img") == 0);
    CHECK(drawn.find("<desc id=\"c-desc\">d</desc>") != std::string::npos);
}

TEST_CASE("bars are as long as their parts, and parts nobody has are in no legend", "[chart]") {
    const StackedBars chart = {{"b", "t", "d"},
                               axis("ns"),
                               {{"one", 0}, {"none", 1}, {"three", 2}},
                               {{"rank 0", {1e6, 0, 3e6}}, {kNasty, {2e6, 0, 0}}}};
    const std::string drawn = on_desk(stacked_bars(chart));
    CHECK(count_of(drawn, "class=\"part f0\"") == 2);
    CHECK(count_of(drawn, "class=\"part f2\"") == 1);
    CHECK(count_of(drawn, "<li>") == 2);
    CHECK(drawn.find("rank 0: three 3.00 ms") != std::string::npos);
    CHECK(count_of(drawn, "<img") == 0);
}

TEST_CASE("an amount that is too long for its bar stands beside it, if the bar is one part", "[chart]") {
    const StackedBars chart = {{"b", "t", "d"},
                               axis("of a step"),
                               {{"one", 0}, {"two", 1}},
                               {{"long", {94'000'000, 0}, ""},
                                {"short", {0, 940'000}, ""},
                                {"both", {940'000, 950'000}, ""},
                                {"noted", {960'000, 0}, "at 2 GB/s"}}};
    const std::string drawn = on_desk(stacked_bars(chart));
    CHECK(drawn.find("class=\"inside\">one 94.0 ms<") != std::string::npos);
    CHECK(count_of(drawn, "class=\"note\">940 us<") == 1);
    for (const char* amount : {">950 us<", ">960 us<"}) CHECK(drawn.find(amount) == std::string::npos);
}

TEST_CASE("a timeline is drawn for a telephone with fewer spans and shorter names", "[chart]") {
    TimelineChart timeline = {{"t", "t", "d"}, 0, 1e9, {{"kernel", 0}}, {}, {}};
    timeline.rows.push_back({"a thread with a long name", {}});
    for (int i = 0; i < 1000; ++i) timeline.rows[0].spans.push_back({i * 1e6, i * 1e6 + 9e5, 0, "k"});
    const std::string html = timeline_chart(timeline).html(), desk = on_desk(timeline_chart(timeline));
    const size_t from = html.find("<div class=\"chart telephone\">"), until = html.find("</div>", from);
    REQUIRE(from != std::string::npos);
    const std::string drawn = html.substr(from, until - from);
    CHECK(count_of(desk, "<rect") >= 1000);
    CHECK(count_of(drawn, "<rect") <= 400);
    CHECK(count_of(drawn, "<rect") > 100);
    CHECK(drawn.find("viewBox=\"0 0 340 ") != std::string::npos);
    CHECK(drawn.find(">a thread with a long name<") == std::string::npos);
    CHECK(drawn.find("data-zoom") != std::string::npos);
}

TEST_CASE("on a telephone marks are fewer, and long names stand above their bars", "[chart]") {
    const std::string name = "sm80_gemm_" + std::string(40, 'x') + "_tn_7";
    const StackedBars chart = {{"b", "t", "d"}, axis("of a step"), {{"part", 0}}, {{name, {94'000'000}, ""}}};
    const std::string html = stacked_bars(chart).html();
    const size_t from = html.find("<div class=\"chart telephone\">"), until = html.find("</div>", from);
    const std::string drawn = html.substr(from, until - from), desk = on_desk(stacked_bars(chart));
    CHECK(drawn.find("viewBox=\"0 0 340 ") != std::string::npos);
    const std::string cut = ">" + cut_in_the_middle(name, 34) + "<";
    CHECK(drawn.find("text-anchor=\"start\" class=\"name\"" + cut) != std::string::npos);
    CHECK(desk.find("text-anchor=\"end\" class=\"name\"" + cut) != std::string::npos);
    CHECK(count_of(desk, "class=\"grid\"") > count_of(drawn, "class=\"grid\""));
    CHECK(count_of(drawn, "class=\"grid\"") >= 2);
    // No id is there twice.
    CHECK(count_of(html, "id=\"b-title\"") == 1);
    CHECK(count_of(html, "id=\"b-telephone-title\"") == 1);
}

// 0 B   200 MB 400 MB        there is no room for the last one
TEST_CASE("a mark has its text where there is room beside the one before", "[chart]") {
    MarkLabels labels(kTelephone);
    CHECK_FALSE(labels.add(50, 0, "200 MB").html().empty());
    CHECK(labels.add(90, 0, "400 MB").html().empty());
    CHECK_FALSE(labels.add(110, 0, "600 MB").html().empty());
    CHECK(labels.add(340, 0, "800 MB").html().find("x=\"317.8\"") != std::string::npos);
}

// step      0     1     2
// three  |  1           1
// one    |  2     3     2        of 4 at most: a part is as tall as it is large, and stands on those below
TEST_CASE("columns stand on each other, and each says all of its parts", "[chart]") {
    ColumnChart chart = {{"c", kNasty, "d"},
                         axis("step"),
                         axis(""),
                         {{"one", 0}, {"none", 1}, {"three", 2}},
                         {{kNasty, -0.5, 0.5, {2e6, 0, 1e6}},
                          {"step 1", 0.5, 1.5, {3e6, 0, 0}},
                          {"step 2", 1.5, 2.5, {2e6, 0, 1e6}}},
                         4e6};
    const std::string drawn = on_desk(column_chart(chart));
    CHECK(count_of(drawn, "<path") == 2);
    CHECK(count_of(drawn, "class=\"over\"") == 3);
    CHECK(drawn.find("step 2: 3.00 ms: one 2.00 ms, three 1.00 ms") != std::string::npos);
    CHECK(count_of(drawn, "<img") == 0);
    double left = 0, bottom = 0, top = 0, above = 0, upper = 0;
    const size_t one = drawn.find("<path d=\"M"), three = drawn.find("<path d=\"M", one + 1);
    REQUIRE(std::sscanf(drawn.c_str() + one, "<path d=\"M%lf %lfV%lf", &left, &bottom, &top) == 3);
    REQUIRE(std::sscanf(drawn.c_str() + three, "<path d=\"M%lf %lfV%lf", &left, &above, &upper) == 3);
    CHECK(above == Approx(top));
    CHECK(top - upper == Approx((bottom - top) / 2).margin(0.02));
    const std::string names = legend_of({chart}).html();
    CHECK(count_of(names, "<li>") == 2);
    CHECK(names.find("none") == std::string::npos);
}

TEST_CASE("a table says what it is sorted by", "[chart]") {
    const std::string shown =
        table({kNasty, "lr", {"name", "time"}, {{kNasty, {"1.00 ms", 1e6}}}, "and 3 more"}).html();
    CHECK(count_of(shown, "data-by=\"1000000\"") == 1);
    CHECK(count_of(shown, "class=\"number\"") == 2);
    CHECK(count_of(shown, "<img") == 0);
    CHECK(shown.find("and 3 more") != std::string::npos);
}

// The vectors of FIPS 180-2 and RFC 4648.
TEST_CASE("digests are those of the standard", "[chart]") {
    CHECK(hex(sha256("")) == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    CHECK(hex(sha256("abc")) == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    CHECK(hex(sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq")) ==
          "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    CHECK(hex(sha256(std::string(1'000'000, 'a'))) ==
          "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
    CHECK(base64("") == "");
    CHECK(base64("f") == "Zg==");
    CHECK(base64("fo") == "Zm8=");
    CHECK(base64("foobar") == "Zm9vYmFy");
    CHECK(base64("\xff\xff\xff") == "////");
}

TEST_CASE("a page allows its own script and style by their digests, and nothing else", "[chart]") {
    const std::string page = page_text({kNasty, cards({{kNasty, kNasty, kNasty}}), {{"a", kNasty, kNasty}}});
    CHECK(count_of(page, "<img") == 0);
    CHECK(count_of(page, "default-src &#39;none&#39;") == 1);
    for (const std::string tag : {"style", "script"}) {
        const size_t begin = page.find("<" + tag + ">") + tag.size() + 2, end = page.find("</" + tag + ">");
        REQUIRE(begin < end);
        const std::string digest = base64(sha256(page.substr(begin, end - begin)));
        CHECK(page.find(tag + "-src &#39;sha256-" + digest + "&#39;") != std::string::npos);
        CHECK(count_of(page, "<" + tag) == 1);
    }
}

// level        0   1   …   7        cells of a level beside each other are one line
TEST_CASE("the largest map that a page has is of bearable size", "[chart]") {
    HeatMap map = {{"h", "t", "d"}, "step", std::vector<std::string>(120, "1000"), {}, duration_text};
    for (int row = 0; row < 64; ++row) {
        map.rows.push_back({"rank 100 to 115", "a hint that says what there is in it", {}});
        for (int column = 0; column < 120; ++column)
            map.rows.back().values.push_back(double(row * 31 % 17 * column % 23));
    }
    CHECK(heat_map(map).html().size() < 300'000);
}

// one    |─|               one
// many         |||||||     too near to each other to be seen apart
TEST_CASE("a timeline draws what cannot be seen apart as one, and says so", "[chart]") {
    TimelineChart timeline = {{"t", "t", "d"}, 0, 1e9, {{"kernel", 0}, {"unused", 1}}, {}, {}};
    timeline.rows.push_back({kNasty, {}});
    timeline.rows[0].spans.push_back({0, 1e8, 0, kNasty});
    for (int i = 0; i < 1000; ++i)
        timeline.rows[0].spans.push_back({5e8 + 10.0 * i, 5e8 + 10.0 * i + 5, 0, "k"});
    const std::string drawn = on_desk(timeline_chart(timeline));
    CHECK(count_of(drawn, "class=\"f0\"") == 3);
    CHECK(drawn.find("1,000 beside each other, k first: 5.00 us in all, from 500 ms on") !=
          std::string::npos);
    CHECK(count_of(drawn, "<li>") == 1);
    CHECK(count_of(drawn, "<img") == 0);
}

// aaaaaaaB aaaaaaaB …: each a and B are too short to be seen apart on a telephone
TEST_CASE("what people are led to is told of what a timeline draws as one", "[chart]") {
    TimelineChart timeline = {{"t", "t", "d"}, 0, 1e9, {}, {{"row", {}}}, {}};
    for (int i = 0; i < 8000; ++i)
        timeline.rows[0].spans.push_back({125e3 * i, 125e3 * i + 1e5, 0, i % 8 == 7 ? "ncclAllReduce" : "a"});
    timeline.to_find = {"allreduce", "a", "none"};
    const std::string html = timeline_chart(timeline).html();
    const std::string drawn = html.substr(html.find("<div class=\"chart telephone\">"));
    REQUIRE(count_of(drawn, "<rect") > 100);
    CHECK(count_of(drawn, "<rect") == count_of(drawn, " beside each other, "));
    CHECK(count_of(drawn, " of them allreduce<") > 100);
    CHECK(count_of(drawn, " of them allreduce<") + count_of(drawn, ", ncclAllReduce first: ") ==
          count_of(drawn, "<rect"));
    CHECK(drawn.find(" of them none") == std::string::npos);
    CHECK(drawn.find(" of them a<") == std::string::npos);  // the first is called so
}

TEST_CASE("a name that is cut does not go through the edge of its span", "[chart]") {
    TimelineChart timeline = {{"t", "t", "d"}, 0, 130e6, {}, {{"row", {}}}, {}};
    for (int i = 0; i < 13; ++i) timeline.rows[0].spans.push_back({i * 10e6, i * 10e6 + 7e6, 0, "mmmmmmmmm"});
    const std::string drawn = on_desk(timeline_chart(timeline));
    const double width = std::stod(drawn.substr(drawn.find("width=\"", drawn.find("<rect")) + 7));
    const size_t at = drawn.find("class=\"inside\">");
    REQUIRE(at != std::string::npos);
    const std::string name = drawn.substr(at + 15, drawn.find('<', at) - at - 15);
    CHECK(name.ends_with("\u2026"));
    // As many letters as there is room for beside the edges, but one: the mark that it is cut is as wide as
    // two.
    const auto letters = static_cast<size_t>((width - 6) / 6.6);
    CHECK(width_of(name) == letters - 1);
    for (TimelineSpan& span : timeline.rows[0].spans) span.name = std::string(letters, 'm');
    CHECK(on_desk(timeline_chart(timeline)).find(">" + std::string(letters, 'm') + "<") != std::string::npos);
}

TEST_CASE("a timeline of a hundred thousand spans is a drawing of bearable size", "[chart]") {
    TimelineChart timeline = {{"t", "t", "d"}, 0, 1e9, {}, {}, {}};
    timeline.rows.resize(2);
    for (int i = 0; i < 50'000; ++i)
        for (TimelineRow& row : timeline.rows)
            row.spans.push_back({2e4 * i, 2e4 * i + 1e4, size_t(i) % 2, "a kernel with a rather long name"});
    CHECK(timeline_chart(timeline).html().size() < 600'000);
}

TEST_CASE("what is aside takes nothing away from other rows, however much of it there is", "[chart]") {
    TimelineChart timeline = {{"t", "t", "d"}, 0, 1e9, {}, {}, {}};
    timeline.rows.resize(2);
    for (int i = 0; i < 1000; ++i) timeline.rows[0].spans.push_back({1e6 * i, 1e6 * i + 5e5, 1, "k"});
    const size_t alone = count_of(on_desk(timeline_chart(timeline)), "class=\"f1\"");
    for (int i = 0; i < 10'000; ++i) timeline.rows[1].spans.push_back({1e5 * i, 1e5 * i + 9e4, 13, "range"});
    timeline.rows[1].is_aside = true;
    const std::string drawn = on_desk(timeline_chart(timeline));
    CHECK(alone == 1000);
    CHECK(count_of(drawn, "class=\"f1\"") == alone);
    CHECK(count_of(drawn, "class=\"f13\"") <= 300);
    CHECK(count_of(drawn, "class=\"f13\"") > 50);
}

TEST_CASE("what is left over from before a timeline begins is cut off at its begin, and pale", "[chart]") {
    TimelineChart timeline = {{"t", "t", "d"}, 1e9, 2e9, {}, {}, {}};
    timeline.rows = {{"rank 0", {}, false, true}, {"stream 1", {}}, {"stream 2", {}}};
    timeline.rows[1].spans.push_back({8e8, 1.2e9, 3, "k", {"stream 1", "a\nb"}, true});
    timeline.rows[1].spans.push_back({1.2e9, 1.3e9, 3, "k", {"stream 1"}, false});
    timeline.rules = {{1.5e9, "", 1, 1}, {1.6e9, "all of it"}};
    const std::string drawn = on_desk(timeline_chart(timeline));
    CHECK(drawn.find(
              "<rect x=\"116\" y=\"44\" width=\"126\" height=\"17\" class=\"f3 before\"><title>k: 400 ms, "
              "from 200 ms before on\nstream 1\na\\x0ab</title>") != std::string::npos);
    CHECK(count_of(drawn, "class=\"f3\"") == 1);
    CHECK(drawn.find("class=\"heading\">rank 0<") != std::string::npos);
    CHECK(drawn.find("y1=\"44\" y2=\"68\" class=\"rule\"") != std::string::npos);  // of its row only
    CHECK(drawn.find("y1=\"14\" y2=\"92\" class=\"rule\"") != std::string::npos);
}

}  // namespace chart_test
