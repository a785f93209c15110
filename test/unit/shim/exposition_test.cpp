// Prometheus's text format.
#include "shim/schema/exposition.h"

#include <set>
#include <string>

#include <catch2/catch.hpp>

#include "shim/schema/size_class.h"

namespace exposition_test {

using namespace gpushim;

TEST_CASE("labels are escaped, and what is no UTF-8 is replaced", "[metrics]") {
    CHECK(metric_labels({{"a", "x"}, {"b", "y"}}) == R"(a="x",b="y")");
    CHECK(metric_labels({{"a", "\"\\\n"}}) == R"(a="\"\\\n")");
    CHECK(metric_labels({{"a", "é€😀"}}) == R"(a="é€😀")");
    CHECK(metric_labels({{"a", "\xff \xc3 \xc0\x80 \xed\xa0\x80 \xf0\x9f"}}) == R"(a="? ? ?? ??? ??")");
    CHECK(metric_labels({{"a", ""}, {"b", "y"}}) == R"(b="y")");
    CHECK(metric_labels({}).empty());
}

TEST_CASE("a family has its head once, and those without values have none", "[metrics]") {
    Exposition out;
    CHECK(out.text().empty());
    out.set_common(metric_labels({{"rank", "3"}}));
    out.add(Metric::hang, 1);
    out.add(Metric::dropped_total, 7, {{"reason", "disk"}});
    out.add(Metric::hang, 0);
    const std::string text = out.text();
    CHECK(text.find("# TYPE gpushim_hang gauge\ngpushim_hang{rank=\"3\"} 1\ngpushim_hang{rank=\"3\"} 0\n") !=
          std::string::npos);
    CHECK(text.find("# TYPE gpushim_dropped_total counter\n"
                    "gpushim_dropped_total{rank=\"3\",reason=\"disk\"} 7\n") != std::string::npos);
    CHECK(text.find("gpushim_steps_total") == std::string::npos);
}

TEST_CASE("numbers keep nanoseconds and no locale's point", "[metrics]") {
    CHECK(exposition::number(0) == "0");
    CHECK(exposition::number(-0.03) == "-0.03");
    CHECK(exposition::number(1.0000000005) == "1.000000001");
    CHECK(exposition::number(0.9999999999) == "1");
    CHECK(exposition::number(5446223668) == "5446223668");
    CHECK(exposition::number(1e300) == "+Inf");
}

TEST_CASE("series are bounded, and those left out are counted", "[metrics]") {
    Exposition out;
    for (size_t i = 0; i < Exposition::kMostSamples + 5; ++i) out.add(Metric::hang, 1);
    out.add_left_out(Metric::watch_left_out_series);
    CHECK(out.text().find("gpushim_watch_left_out_series 5\n") != std::string::npos);
}

TEST_CASE("each metric has a name of its own, a type, and help of one line", "[metrics]") {
    std::set<std::string_view> names;
    for (const MetricRow& row : kMetrics) {
        INFO(row.name);
        CHECK(names.insert(row.name).second);
        CHECK((row.type == "counter") == row.name.ends_with("_total"));
        CHECK((row.type == "counter" || row.type == "gauge"));
        CHECK(!row.help.empty());
        CHECK(row.help.find_first_of("\n\\") == std::string_view::npos);
    }
}

TEST_CASE("sizes of collectives are in few classes", "[metrics]") {
    CHECK(size_class(0) == 4096);
    CHECK(size_class(4096) == 4096);
    CHECK(size_class(4097) == 65536);
    CHECK(size_class(uint64_t{1} << 32) == uint64_t{1} << 32);
    CHECK(size_class((uint64_t{1} << 32) + 1) == 0);
}

}  // namespace exposition_test
