#include "analysis/exporter/tracks.h"

#include <algorithm>
#include <random>

#include "catch2/catch.hpp"

namespace tracks_test {

using namespace gpushim::analysis;

namespace {

constexpr int64_t kPid = 1, kTid = 7, kFirstExtra = 1'000'000'000;

bool same(const Placed& a, const Placed& b) {
    return a.tid == b.tid && a.start_ns == b.start_ns && a.end_ns == b.end_ns;
}

}  // namespace

//   |──a──────────|            row 1
//     |─b──|                   row 1, in a
//           |─c────|           row 2: it would cross the end of a
//                    |─d─|     row 1
TEST_CASE("what would cross an end stands beside it", "[tracks]") {
    Tracks tracks;
    CHECK(same(tracks.nested(kPid, kTid, 0, 1000), {kTid, 0, 1000}));
    CHECK(same(tracks.nested(kPid, kTid, 100, 500), {kTid, 100, 500}));
    CHECK(same(tracks.nested(kPid, kTid, 600, 1300), {kFirstExtra, 600, 1300}));
    CHECK(same(tracks.nested(kPid, kTid, 1500, 1800), {kTid, 1500, 1800}));
    REQUIRE(tracks.extra().size() == 1);
    CHECK((tracks.extra()[0].pid == kPid && tracks.extra()[0].beside == kTid));
}

//   |──a──|        a was moved by 1 ns and so ends 1 ns behind where b begins
//         |──b──|
TEST_CASE("a begin that was moved by 1 ns makes no row", "[tracks]") {
    Tracks tracks;
    tracks.nested(kPid, kTid, 0, 5000);
    tracks.nested(kPid, kTid, 1, 101);
    CHECK(same(tracks.nested(kPid, kTid, 100, 200), {kTid, 101, 200}));
    CHECK(same(tracks.nested(kPid, kTid, 4000, 5001), {kTid, 4000, 5000}));
    CHECK(tracks.extra().empty());
}

TEST_CASE("threads and processes have rows of their own", "[tracks]") {
    Tracks tracks;
    tracks.nested(kPid, kTid, 0, 1000);
    CHECK(tracks.nested(kPid, kTid + 1, 500, 2000).tid == kTid + 1);
    CHECK(tracks.nested(kPid + 1, kTid, 500, 2000).tid == kTid);
}

//   stream   |──a──||──b──|
//                |──c──|         row 2
//     |d|                        row 2 has c, so row 3: it came later and ran before
TEST_CASE("operations of a stream stand one behind the other", "[tracks]") {
    Tracks tracks;
    CHECK(same(*tracks.in_a_row(0, kTid, 1000, 2000), {kTid, 1000, 2000}));
    CHECK(same(*tracks.in_a_row(0, kTid, 1999, 3000), {kTid, 2000, 3000}));  // 1 ns over: a clock's step
    CHECK(same(*tracks.in_a_row(0, kTid, 1500, 2500), {kFirstExtra, 1500, 2500}));
    CHECK(same(*tracks.in_a_row(0, kTid, 100, 200), {kFirstExtra + 1, 100, 200}));
}

TEST_CASE("there are only so many rows for one stream", "[tracks]") {
    Tracks tracks;
    int placed = 0;
    for (int64_t i = 0; i < 100; ++i) placed += tracks.in_a_row(0, kTid, 1000 - i * 20, 2000).has_value();
    CHECK(placed == 64);
}

TEST_CASE("whatever comes, nothing crosses on a row", "[tracks]") {
    std::mt19937 dice(7);
    for (int round = 0; round < 200; ++round) {
        std::vector<std::pair<int64_t, int64_t>> spans;
        for (int i = 0; i < 60; ++i) {
            const auto start = static_cast<int64_t>(dice() % 200);
            spans.emplace_back(start, start + static_cast<int64_t>(dice() % 60));
        }
        std::sort(spans.begin(), spans.end(), [](const auto& a, const auto& b) {
            return std::pair(a.first, -a.second) < std::pair(b.first, -b.second);
        });
        Tracks tracks;
        std::vector<Placed> all;
        for (const auto& [start, end] : spans) all.push_back(tracks.nested(kPid, kTid, start, end));
        for (const Placed& a : all)
            for (const Placed& b : all) {
                const bool crosses =
                    a.tid == b.tid && a.start_ns < b.start_ns && b.start_ns < a.end_ns && a.end_ns < b.end_ns;
                REQUIRE(!crosses);
            }
    }
}

}  // namespace tracks_test
