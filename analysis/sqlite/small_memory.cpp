#include "small_memory.h"

#include <sqlite3.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define GPUSHIM_IS_WATCHED 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define GPUSHIM_IS_WATCHED 1
#endif

namespace gpushim::analysis {

namespace {

// In front of a piece. Larger pieces are the C library's.
struct Head {
    uint32_t units;  // with the head; 0: it is the C library's
    uint32_t bytes;  // that it has room for
};
static_assert(sizeof(Head) == 8, "SQLite's pieces begin at multiples of 8");
struct Free {  // in place of what was in a piece
    Free* next;
};
constexpr size_t kUnit = 16, kClasses = 65;  // up to 1 kB
constexpr size_t kBlock = 64 << 10;

constexpr size_t units_of(size_t bytes) { return (bytes + sizeof(Head) + kUnit - 1) / kUnit; }
Head& head_of(void* piece) { return *(static_cast<Head*>(piece) - 1); }

// What one thread at a time takes from: pieces that came back, by units, and a block that was not yet cut up.
struct Store {
    std::array<Free*, kClasses> came_back{};
    char *block = nullptr, *block_end = nullptr;
    Store* next = nullptr;  // on the shelf

    void* take(size_t units) {
        if (Free* const piece = came_back[units]) return came_back[units] = piece->next, piece;
        if (static_cast<size_t>(block_end - block) < units * kUnit && !next_block()) return nullptr;
        auto* const head = reinterpret_cast<Head*>(block);
        *head = {static_cast<uint32_t>(units), static_cast<uint32_t>(units * kUnit - sizeof(Head))};
        block += units * kUnit;
        return head + 1;
    }

    void give_back(void* piece, size_t units) {
        auto* const free = static_cast<Free*>(piece);
        free->next = came_back[units];
        came_back[units] = free;
    }

    bool next_block() {
        block = static_cast<char*>(std::malloc(kBlock));
        block_end = block == nullptr ? nullptr : block + kBlock;
        return block != nullptr;
    }
};

// Stores of threads that have ended, for those that begin. Nothing is thrown here: SQLite is C.
struct Shelf {
    std::mutex lock;
    Store* first = nullptr;
};
Shelf& shelf() {
    static auto* const kept = new Shelf;  // threads may end after all else has
    return *kept;
}

thread_local bool is_ended = false;

class Borrowed {
  public:
    Borrowed() {
        const std::lock_guard guard(shelf().lock);
        store_ = shelf().first;
        if (store_ != nullptr)
            shelf().first = store_->next;
        else
            store_ = new (std::nothrow) Store;
    }
    ~Borrowed() {
        is_ended = true;
        if (store_ == nullptr) return;
        const std::lock_guard guard(shelf().lock);
        store_->next = shelf().first;
        shelf().first = store_;
    }
    Borrowed(const Borrowed&) = delete;
    Borrowed& operator=(const Borrowed&) = delete;
    Store* store() { return store_; }  // null: there is no memory for one

  private:
    Store* store_;
};

Store* store_of_thread() {
    if (is_ended) return nullptr;
    thread_local Borrowed borrowed;
    return borrowed.store();
}

void* take(int bytes) {
    const size_t units = units_of(static_cast<size_t>(bytes));
    if (Store* const store = units < kClasses ? store_of_thread() : nullptr)
        if (void* const piece = store->take(units)) return piece;
    auto* const head = static_cast<Head*>(std::malloc(sizeof(Head) + static_cast<size_t>(bytes)));
    if (head == nullptr) return nullptr;
    *head = {0, static_cast<uint32_t>(bytes)};
    return head + 1;
}

void give_back(void* piece) {
    if (piece == nullptr) return;
    const uint32_t units = head_of(piece).units;
    if (units == 0)
        std::free(&head_of(piece));
    else if (Store* const store = store_of_thread())
        store->give_back(piece, units);
}

int size_of(void* piece) { return piece == nullptr ? 0 : static_cast<int>(head_of(piece).bytes); }

void* resized(void* piece, int bytes) {
    const uint32_t room = head_of(piece).bytes;
    if (head_of(piece).units == 0 && units_of(static_cast<size_t>(bytes)) >= kClasses) {
        void* const moved = std::realloc(&head_of(piece), sizeof(Head) + static_cast<size_t>(bytes));
        if (moved == nullptr) return nullptr;
        *static_cast<Head*>(moved) = {0, static_cast<uint32_t>(bytes)};
        return static_cast<Head*>(moved) + 1;
    }
    if (head_of(piece).units != 0 && static_cast<uint32_t>(bytes) <= room) return piece;
    void* const other = take(bytes);
    if (other == nullptr) return nullptr;
    std::memcpy(other, piece, std::min(room, static_cast<uint32_t>(bytes)));
    give_back(piece);
    return other;
}

int rounded_up(int bytes) {
    const size_t units = units_of(static_cast<size_t>(bytes));
    return units < kClasses ? static_cast<int>(units * kUnit - sizeof(Head)) : (bytes + 7) & ~7;
}

}  // namespace

const sqlite3_mem_methods& small_memory() {
    static const sqlite3_mem_methods kMethods = {take,         give_back,  resized,
                                                 size_of,      rounded_up, [](void*) { return SQLITE_OK; },
                                                 [](void*) {}, nullptr};
    return kMethods;
}

void give_sqlite_small_memory() {
#ifndef GPUSHIM_IS_WATCHED
    sqlite3_config(SQLITE_CONFIG_MALLOC, &small_memory());
#endif
}

}  // namespace gpushim::analysis
