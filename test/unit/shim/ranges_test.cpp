#include "shim/rows/ranges.h"

#include <catch2/catch.hpp>

#include "shim/rows/handles.h"

namespace ranges_test {

using namespace gpushim::shim;

namespace {

AddressRange range(uint64_t bytes, int64_t since_ns, Memory memory = Memory::device, uint32_t context = 1) {
    return {bytes, since_ns, since_ns, kForEver, memory, true, context, 0, kNull};
}

}  // namespace

TEST_CASE("a range covers its addresses and no other", "[ranges]") {
    //  0x1000 ├──────┤ 0x1040        0x2000 ├──────
    AddressRanges ranges;
    ranges.born(0x1000, range(0x40, 10));
    ranges.born(0x2000, range(0x40, 10, Memory::pinned));
    CHECK(ranges.find(0xfff, 20) == nullptr);
    REQUIRE(ranges.find(0x1000, 20) != nullptr);
    REQUIRE(ranges.find(0x103f, 20) != nullptr);
    CHECK(ranges.find(0x1040, 20) == nullptr);
    REQUIRE(ranges.find(0x2010, 20) != nullptr);
    CHECK(ranges.find(0x2010, 20)->memory == Memory::pinned);
    CHECK(ranges.find(0x1000, 9) == nullptr);
}

TEST_CASE("an address means what was allocated there at that time", "[ranges]") {
    AddressRanges ranges;
    ranges.born(0x1000, range(0x40, 10));
    REQUIRE(ranges.died(0x1000, 20) != nullptr);
    ranges.born(0x1000, range(0x80, 30, Memory::managed));
    CHECK(ranges.find(0x1000, 15)->memory == Memory::device);
    CHECK(ranges.find(0x1000, 25) == nullptr);
    CHECK(ranges.find(0x1000, 35)->memory == Memory::managed);
}

TEST_CASE("a free that is told after the next allocation ends the older one", "[ranges]") {
    AddressRanges ranges;
    ranges.born(0x1000, range(0x40, 10));
    ranges.born(0x1000, range(0x80, 30));
    const AddressRange* ended = ranges.died(0x1000, 20);
    REQUIRE(ended != nullptr);
    CHECK(ended->bytes == 0x40);
    CHECK(ranges.held_bytes(Memory::device, 1) == 0x80);
}

TEST_CASE("held bytes follow what comes and goes", "[ranges]") {
    AddressRanges ranges;
    ranges.born(0x1000, range(100, 10));
    ranges.born(0x2000, range(50, 10, Memory::device, 2));
    ranges.born(0x3000, range(7, 10, Memory::pinned));
    CHECK(ranges.held_bytes(Memory::device, 1) == 100);
    CHECK(ranges.held_bytes(Memory::device, 2) == 50);
    CHECK(ranges.held_bytes(Memory::pinned, 1) == 7);
    ranges.died(0x1000, 20);
    CHECK(ranges.held_bytes(Memory::device, 1) == 0);
    CHECK(ranges.died(0x1000, 30) == nullptr);
}

TEST_CASE("ranges that ended long ago are forgotten", "[ranges]") {
    AddressRanges ranges;
    ranges.born(0x1000, range(100, 10));
    ranges.died(0x1000, 20);
    ranges.forget_before(15);
    CHECK(ranges.find(0x1000, 12) != nullptr);
    ranges.forget_before(100);
    CHECK(ranges.find(0x1000, 12) == nullptr);
}

}  // namespace ranges_test
