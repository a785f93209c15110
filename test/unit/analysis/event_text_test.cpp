#include "analysis/exporter/event_text.h"

#include "analysis/exporter/export_row.h"
#include "catch2/catch.hpp"
#include "repeats.h"

namespace event_text_test {

using namespace gpushim::analysis;

TEST_CASE("nanoseconds are exact microseconds", "[event_text]") {
    CHECK(microseconds(0) == "0.000");
    CHECK(microseconds(12'345) == "12.345");
    CHECK(microseconds(-1) == "-0.001");
    CHECK(microseconds(INT64_MAX) == "9223372036854775.807");
    CHECK(microseconds(INT64_MIN) == "-9223372036854775.808");
}

TEST_CASE("an event is a line, and what is not recorded is not in it", "[event_text]") {
    EventText event;
    event.begin('X', "kernel", "gemm")
        .at(0, 7, 1500)
        .lasts(20)
        .arg("device", 0)
        .arg("context", ExportRow::kNone);
    event.arg("grid", std::array<int64_t, 3>{1, 2, 3});
    event.arg("block", std::array<int64_t, 3>{1, ExportRow::kNone, 3}).arg("dtype", std::string_view());
    CHECK(event.end() == R"({"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 1.500,)"
                         R"( "dur": 0.020, "args": {"device": 0, "grid": [1, 2, 3]}})");
    CHECK(event.begin('i', "", "a").at(1, 2, 3).member("s", "t").end() ==
          R"({"ph": "i", "name": "a", "pid": 1, "tid": 2, "ts": 0.003, "s": "t"})");
}

TEST_CASE("a stranger's text stays text, in a page, too", "[event_text]") {
    EventText event;
    CHECK(event.quoted("a\"\\\n\x01</script>\xff") == R"("a\"\\\u000a\u0001\u003c/script>\ufffd")");
    CHECK(event.quoted("é") == "\"é\"");
}

TEST_CASE("many names do not fill the memory", "[event_text]") {
    EventText event;
    for (int i = 0; i < repeats(200, 40); ++i) {
        const std::string name = std::string(65536, 'x') + std::to_string(i);
        REQUIRE(event.quoted(name) == "\"" + name + "\"");
    }
}

}  // namespace event_text_test
