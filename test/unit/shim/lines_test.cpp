// Lines by the tables of three generations of interpreters, made by hand.
#include "shim/python/lines.h"

#include <catch2/catch.hpp>
#include <vector>

namespace lines_test {

using namespace gpushim::shim;

namespace {

using Bytes = std::vector<unsigned char>;

std::vector<int64_t> lines(int minor, const Bytes& table, int64_t first, std::initializer_list<int64_t> at) {
    std::vector<int64_t> all;
    for (const int64_t instruction : at) all.push_back(line_of(minor, table, first, instruction));
    return all;
}

using Lines = std::vector<int64_t>;

}  // namespace

// bytes   0    6    8         20
// line    10   11   9         300
TEST_CASE("steps: lines go on and back, far ones in parts", "[python_lines]") {
    const Bytes table = {6, 1, 2, 0xfe, 12, 127, 0, 127, 0, 37};
    CHECK(lines(9, table, 10, {0, 4, 6, 8, 18, 20, 1000}) == Lines{10, 10, 11, 9, 9, 300, 300});
    CHECK(lines(9, {}, 10, {0, 50}) == Lines{10, 10});
}

// bytes   0    4     6       8
// line    10   none  12      10
TEST_CASE("spans: some are on no line", "[python_lines]") {
    const Bytes table = {4, 0, 2, 0x80, 2, 2, 2, 0xfe};
    CHECK(lines(10, table, 10, {0, 2, 4, 6, 8, 9}) == Lines{10, 10, kNoLine, 12, 10, 10});
    CHECK(line_of(10, table, 10, 10) == kNoLine);
}

// units   0..1         2             3                  4..11             12
// kind    short (0)    one line 11   no columns (-3)    long (+70)        none
TEST_CASE("entries: of each kind, with what follows them", "[python_lines]") {
    const Bytes table = {
        0x80 | 0 << 3 | 1,  0x11,              // stays
        0x80 | 11 << 3 | 0, 3,    9,           // + 1
        0x80 | 13 << 3 | 0, 7,                 // - 3
        0x80 | 14 << 3 | 7, 0x4c, 2, 0, 1, 1,  // + 70: 140 = 12 + 2 * 64
        0x80 | 15 << 3 | 0,
    };
    CHECK(lines(11, table, 10, {0, 2, 4, 6, 8, 22, 24}) == Lines{10, 10, 11, 8, 78, 78, kNoLine});
    CHECK(line_of(13, table, 10, 26) == kNoLine);
}

TEST_CASE("what has not begun is at its first line, and a table that ends early tells none",
          "[python_lines]") {
    for (const int minor : {9, 10, 11, 14}) CHECK(line_of(minor, Bytes{2, 1}, 5, -1) == 5);
    CHECK(line_of(11, Bytes{0x80 | 13 << 3 | 0, 0x40, 0x40}, 5, 4) == kNoLine);
    CHECK(line_of(11, Bytes{1, 2, 3}, 5, 0) == kNoLine);
    CHECK(line_of(10, Bytes{2}, 5, 0) == kNoLine);
}

}  // namespace lines_test
