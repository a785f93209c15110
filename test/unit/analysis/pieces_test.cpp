// Windows cut into pieces, where steps begin.
#include "analysis/busy/pieces.h"

#include <catch2/catch.hpp>

namespace pieces_test {

using namespace gpushim::analysis;

namespace {

constexpr int64_t kSecond = 1'000'000'000;

Window window(int64_t from_ns, int64_t until_ns, int64_t operations = 10, int64_t device = 0) {
    return {from_ns, until_ns - from_ns, until_ns - from_ns, device, {}, operations, operations, 0, 0};
}

Intervals hosts(const std::vector<Window>& windows, const std::vector<int64_t>& cuts) {
    Intervals all;
    for (const PlannedPiece& piece : pieces_of(windows, {0}, cuts)) all.push_back(piece.host);
    return all;
}

}  // namespace

TEST_CASE("a window is a piece; one that is apart from others ends where it ends", "[pieces]") {
    CHECK(hosts({window(0, 100), window(200, 300)}, {}) == Intervals{{0, 100}, {200, 300}});
    CHECK(hosts({window(0, 100), window(5000, 5100)}, {30, 70, 110}) == Intervals{{0, 100}, {5000, 5100}});
}

//  windows  0────────100────────200────────300
//  cuts         40  80  120   180     240
TEST_CASE("windows that follow each other are parted where a step begins", "[pieces]") {
    const std::vector<Window> windows = {window(0, 100), window(100, 200), window(200, 300)};
    CHECK(hosts(windows, {40, 80, 120, 180, 240}) == Intervals{{0, 120}, {120, 240}, {240, 300}});
    CHECK(hosts(windows, {}) == Intervals{{0, 100}, {100, 200}, {200, 300}});
    // One in which no step begins belongs to the piece before it.
    CHECK(hosts(windows, {40, 250}) == Intervals{{0, 250}, {250, 300}});
}

TEST_CASE("long windows are parted, and those with many operations", "[pieces]") {
    CHECK(hosts({window(0, 30 * kSecond)}, {}) ==
          Intervals{{0, 10 * kSecond}, {10 * kSecond, 20 * kSecond}, {20 * kSecond, 30 * kSecond}});
    CHECK(hosts({window(0, 1000, 200'000)}, {}) == Intervals{{0, 500}, {500, 1000}});
    CHECK(hosts({window(0, 1000, 200'000)}, {450, 620, 900}) == Intervals{{0, 620}, {620, 1000}});
}

//  windows  0────10────20────30────40────50────60 s     the host launches 216 operations in 2 ms, then waits
//  cuts        3                        43
TEST_CASE("a step that is longer than windows are is one piece", "[pieces]") {
    std::vector<Window> windows;
    for (int64_t i = 0; i < 6; ++i) windows.push_back(window(10 * i * kSecond, 10 * (i + 1) * kSecond, 30));
    const std::vector<int64_t> cuts = {3 * kSecond, 43 * kSecond};
    CHECK(hosts(windows, cuts) ==
          Intervals{{0, 43 * kSecond}, {43 * kSecond, 50 * kSecond}, {50 * kSecond, 60 * kSecond}});
    const std::vector<int64_t> more = {3 * kSecond, 9 * kSecond, 43 * kSecond, 59 * kSecond};
    windows[1].own_host_ns = 1000, windows[4].own_host_ns = 100;
    const auto pieces = pieces_of(windows, {0}, more);
    REQUIRE(pieces.size() == 3);
    CHECK(pieces[0].host == Interval{0, 43 * kSecond});
    CHECK(pieces[0].windows[0].operations == 4 * 30 + 9);
    CHECK(pieces[0].windows[0].own_host_ns == 1030);
    CHECK(pieces[1].host == Interval{43 * kSecond, 59 * kSecond});
    CHECK(pieces[1].windows[0].operations == 30);
    CHECK(hosts({window(0, 60 * kSecond, 200)}, {3 * kSecond, 43 * kSecond}) ==
          Intervals{{0, 43 * kSecond}, {43 * kSecond, 50 * kSecond}, {50 * kSecond, 60 * kSecond}});
}

TEST_CASE("a long step of too many operations, or with a break, is torn", "[pieces]") {
    std::vector<Window> windows;
    for (int64_t i = 0; i < 4; ++i)
        windows.push_back(window(10 * i * kSecond, 10 * (i + 1) * kSecond, 150'000));
    CHECK(hosts(windows, {35 * kSecond}).size() == 6);  // each in two, but for the end of the step
    windows[3].operations = windows[2].operations = 0;
    CHECK(hosts(windows, {35 * kSecond}) == Intervals{{0, 35 * kSecond}, {35 * kSecond, 40 * kSecond}});
    windows[1].dur_ns -= kSecond;
    CHECK(hosts(windows, {35 * kSecond}).size() == 5);
    CHECK(hosts({window(0, 60 * kSecond, 300'000)}, {35 * kSecond}).size() == 4);
    CHECK(hosts({window(0, 60 * kSecond, 1'200'000)}, {35 * kSecond}).size() == 9);
}

TEST_CASE("windows of a damaged file are parted into no more than fit into memory", "[pieces]") {
    constexpr int64_t kYear = 365 * 86'400 * kSecond;
    std::vector<Window> windows;
    for (int64_t i = 0; i < 100; ++i) windows.push_back(window(i, i + kYear, INT64_MAX / 2));
    const Intervals all = hosts(windows, {});
    CHECK(all.size() < 2'200);
    CHECK(all.back().end_ns == 99 + kYear);
    CHECK(hosts({window(0, 1000, INT64_MAX / 2)}, {}).back().end_ns == 1000);
}

TEST_CASE("however many windows came before, a long one is parted", "[pieces]") {
    std::vector<Window> windows;
    for (int64_t i = 0; i < 3000; ++i) windows.push_back(window(i * 10'000, i * 10'000 + 100));
    windows.push_back(window(kSecond, 31 * kSecond));
    CHECK(hosts(windows, {}).size() == 3003);
}

TEST_CASE("a device without a row had nothing to do", "[pieces]") {
    const std::vector<Window> windows = {window(0, 100, 10, 1)};
    const auto pieces = pieces_of(windows, {0, 1}, {});
    REQUIRE(pieces.size() == 1);
    REQUIRE(pieces[0].windows.size() == 2);
    CHECK(pieces[0].windows[0].operations == 0);
    CHECK(pieces[0].windows[1].operations == 10);
}

}  // namespace pieces_test
