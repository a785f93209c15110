#include "engine/arena.h"

#include <sys/stat.h>

#include <catch2/catch.hpp>
#include <cstring>

namespace arena_test {

using namespace gpusim;

namespace {

constexpr size_t kMiB = 1 << 20;

}  // namespace

TEST_CASE("an arena gives real, aligned memory that does not overlap", "[arena]") {
    Arena arena(kMiB);
    const auto a = arena.allocate(1, 0);
    const auto b = arena.allocate(513, 0);
    const auto c = arena.allocate(512, 0);
    CHECK(a % 512 == 0);
    CHECK(b == a + 512);
    CHECK(c == b + 1024);
    std::memset(reinterpret_cast<void*>(b), 0x7e, 513);
    CHECK(reinterpret_cast<const unsigned char*>(b)[512] == 0x7e);
    CHECK(reinterpret_cast<const unsigned char*>(c)[0] == 0);
    CHECK(arena.contains(c));
    CHECK_FALSE(arena.contains(a - 1));
    CHECK_FALSE(arena.contains(a + kMiB));
}

TEST_CASE("an arena finds the block an address lies in", "[arena]") {
    Arena arena(kMiB);
    const auto a = arena.allocate(100, 7);
    const Block* found = arena.find(a + 99);
    REQUIRE(found != nullptr);
    CHECK(found->base == a);
    CHECK(found->size_bytes == 100);
    CHECK(found->flags == 7);
    CHECK(arena.find(a + 100) == nullptr);
    CHECK(arena.find(a - 1) == nullptr);
}

TEST_CASE("an arena gives blocks without bytes addresses of their own", "[arena]") {
    Arena arena(kMiB);
    const auto a = arena.allocate(0, 1);
    const auto b = arena.allocate(0, 2);
    CHECK(a != b);
    REQUIRE(arena.find(a) != nullptr);
    CHECK(arena.find(a)->flags == 1);
    CHECK(arena.free(a));
    CHECK(arena.free(b));
    CHECK(arena.allocate(kMiB, 0) == a);
}

TEST_CASE("an arena frees by base only, once", "[arena]") {
    Arena arena(kMiB);
    const auto a = arena.allocate(1000, 0);
    CHECK_FALSE(arena.free(a + 512));
    CHECK(arena.free(a));
    CHECK_FALSE(arena.free(a));
    CHECK(arena.find(a) == nullptr);
}

// |a|b|c|d|  free b, d, then c: one hole from b to the end; then a: all of it
TEST_CASE("an arena joins neighbouring holes in every order", "[arena]") {
    constexpr size_t kQuarter = kMiB / 4;
    const auto order = GENERATE(as<std::string>(), "bdca", "abcd", "dcba", "cabd", "acbd");
    Arena arena(kMiB);
    uintptr_t base[4];
    for (auto& each : base) each = arena.allocate(kQuarter, 0);
    CHECK(arena.allocate(1, 0) == 0);
    for (const char which : order) CHECK(arena.free(base[which - 'a']));
    CHECK(arena.allocate(kMiB, 0) == base[0]);
}

TEST_CASE("an arena uses holes again and knows when none is large enough", "[arena]") {
    Arena arena(kMiB);
    const auto a = arena.allocate(kMiB / 2, 0);
    const auto b = arena.allocate(kMiB / 2, 0);
    CHECK(arena.free(a));
    CHECK(arena.allocate(kMiB / 2 + 1, 0) == 0);
    CHECK(arena.allocate(4096, 0) == a);
    CHECK(arena.allocate(4096, 0) == a + 4096);
    CHECK(arena.find(b)->base == b);
}

TEST_CASE("an arena never gives an id twice", "[arena]") {
    Arena arena(kMiB);
    const auto a = arena.allocate(512, 0);
    const auto id = arena.find(a)->id;
    arena.free(a);
    REQUIRE(arena.allocate(512, 0) == a);
    CHECK(arena.find(a)->id != id);
}

TEST_CASE("an arena gives the pages of what is freed back", "[arena]") {
    Arena arena(64 * kMiB);
    const auto used_kib = [&] {
        struct stat file;
        REQUIRE(fstat(arena.file(), &file) == 0);
        return file.st_blocks / 2;
    };
    const auto before = arena.allocate(512, 0);
    const auto a = arena.allocate(16 * kMiB, 0);
    CHECK(used_kib() < 64);
    std::memset(reinterpret_cast<void*>(a), 1, 16 * kMiB);
    CHECK(used_kib() >= 16 * 1024);
    std::memset(reinterpret_cast<void*>(before), 0x33, 512);
    arena.free(a);
    CHECK(used_kib() < 64);
    CHECK(*reinterpret_cast<const unsigned char*>(before) == 0x33);
    CHECK(arena.offset(a) == 512);
}

TEST_CASE("a low arena lies below 4 GiB", "[arena]") {
    Arena arena(kMiB, Arena::Low::yes);
    CHECK(arena.allocate(kMiB, 0) + kMiB <= uintptr_t{1} << 32);
}

}  // namespace arena_test
