// The memory that SQLite is given for its small pieces.
#include "analysis/sqlite/small_memory.h"

#include <sqlite3.h>

#include <catch2/catch.hpp>
#include <cstdint>
#include <cstring>
#include <set>
#include <thread>
#include <vector>

namespace small_memory_test {

using namespace gpushim::analysis;

namespace {

const sqlite3_mem_methods& memory = small_memory();

struct Piece {
    void* at;
    int bytes;
    char filled;
};

bool is_whole(const Piece& piece) {
    const std::vector<char> expected(static_cast<size_t>(piece.bytes), piece.filled);
    return std::memcmp(piece.at, expected.data(), expected.size()) == 0;
}

void fill(Piece& piece, char with) {
    piece.filled = with;
    std::memset(piece.at, with, static_cast<size_t>(piece.bytes));
}

}  // namespace

TEST_CASE("a piece has the room that was asked for, and keeps what is in it", "[small_memory]") {
    std::vector<Piece> pieces;
    for (int bytes = 1; bytes < 5000; bytes += bytes < 1100 ? 1 : 97) {
        Piece piece = {memory.xMalloc(bytes), bytes, 0};
        REQUIRE(piece.at != nullptr);
        REQUIRE(reinterpret_cast<uintptr_t>(piece.at) % 8 == 0);
        REQUIRE(memory.xSize(piece.at) >= bytes);
        REQUIRE(memory.xRoundup(bytes) >= bytes);
        fill(piece, static_cast<char>(bytes));
        pieces.push_back(piece);
    }
    for (Piece& piece : pieces) {
        const int larger = piece.bytes * 2 + 7;
        piece.at = memory.xRealloc(piece.at, larger);
        REQUIRE(memory.xSize(piece.at) >= larger);
        REQUIRE(is_whole(piece));
        piece.bytes = larger;
        fill(piece, static_cast<char>(larger));
    }
    for (Piece& piece : pieces) {
        piece.bytes = piece.bytes / 3 + 1;
        piece.at = memory.xRealloc(piece.at, piece.bytes);
        REQUIRE(is_whole(piece));
    }
    for (const Piece& piece : pieces) {
        REQUIRE(is_whole(piece));
        memory.xFree(piece.at);
    }
    CHECK(memory.xSize(nullptr) == 0);
}

TEST_CASE("what a thread gave back serves the threads after it", "[small_memory]") {
    constexpr int kPieces = 3000, kBytes = 200;
    const auto taken = [] {
        std::set<void*> places;
        std::thread([&places] {
            for (int i = 0; i < kPieces; ++i) places.insert(memory.xMalloc(kBytes));
            for (void* const place : places) memory.xFree(place);
        }).join();
        return places;
    };
    const std::set<void*> first = taken();
    REQUIRE(first.size() == kPieces);
    CHECK(taken() == first);
}

TEST_CASE("threads that take at one time have pieces of their own", "[small_memory]") {
    constexpr int kThreads = 4, kPieces = 2000;
    std::vector<std::vector<Piece>> of(kThreads);
    const auto in_threads = [&](auto work) {
        std::vector<std::thread> threads;
        for (int i = 0; i < kThreads; ++i) threads.emplace_back([&work, i] { work(i); });
        for (std::thread& thread : threads) thread.join();
    };
    in_threads([&](int i) {
        for (int k = 0; k < kPieces; ++k) {
            Piece piece = {memory.xMalloc(1 + k % 700), 1 + k % 700, 0};
            fill(piece, static_cast<char>(i + 1));
            of[static_cast<size_t>(i)].push_back(piece);
        }
    });
    int damaged = 0;
    std::set<void*> places;
    for (const std::vector<Piece>& pieces : of)
        for (const Piece& piece : pieces) {
            damaged += !is_whole(piece);
            places.insert(piece.at);
        }
    CHECK(damaged == 0);
    CHECK(places.size() == kThreads * kPieces);
    in_threads([&](int i) {
        for (const Piece& piece : of[static_cast<size_t>((i + 1) % kThreads)]) memory.xFree(piece.at);
    });
}

}  // namespace small_memory_test
