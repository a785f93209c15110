// The calls that a compiler puts before each access for ThreadSanitizer (-fsanitize=thread): here they go to
// the explorer instead. Not compiled with it itself.
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "explore.h"

using model::Access;

#define PLAIN(bytes)                                                                            \
    void __tsan_read##bytes(void* at) { model::announce(at, bytes, Access::read); }             \
    void __tsan_write##bytes(void* at) { model::announce(at, bytes, Access::write); }           \
    void __tsan_unaligned_read##bytes(void* at) { model::announce(at, bytes, Access::read); }   \
    void __tsan_unaligned_write##bytes(void* at) { model::announce(at, bytes, Access::write); } \
    void __tsan_volatile_read##bytes(void* at) { model::announce(at, bytes, Access::read); }    \
    void __tsan_volatile_write##bytes(void* at) { model::announce(at, bytes, Access::write); }

namespace {

bool acquires(int order) { return order != __ATOMIC_RELAXED && order != __ATOMIC_RELEASE; }
bool releases(int order) { return order >= __ATOMIC_RELEASE; }

template <class T, class Change>
T changed(volatile void* at, int order, Change change) {
    auto* const word = static_cast<T*>(const_cast<void*>(at));
    model::announce(word, sizeof(T), Access::atomic_read);
    if (acquires(order)) model::acquired(word);
    model::announce(word, sizeof(T), Access::atomic_write);
    const T before = *word;
    *word = change(before);
    if (releases(order)) model::released(word, true);
    return before;
}

}  // namespace

#define ATOMIC(bits, T)                                                                                 \
    T __tsan_atomic##bits##_load(const volatile T* at, int order) {                                     \
        model::announce(const_cast<T*>(at), sizeof(T), Access::atomic_read);                            \
        if (acquires(order)) model::acquired(const_cast<T*>(at));                                       \
        return *at;                                                                                     \
    }                                                                                                   \
    void __tsan_atomic##bits##_store(volatile T* at, T value, int order) {                              \
        model::announce(const_cast<T*>(at), sizeof(T), Access::atomic_write);                           \
        *at = value;                                                                                    \
        model::released(const_cast<T*>(at), releases(order));                                           \
    }                                                                                                   \
    T __tsan_atomic##bits##_exchange(volatile T* at, T value, int order) {                              \
        return changed<T>(at, order, [=](T) { return value; });                                         \
    }                                                                                                   \
    T __tsan_atomic##bits##_fetch_add(volatile T* at, T value, int order) {                             \
        return changed<T>(at, order, [=](T was) { return static_cast<T>(was + value); });               \
    }                                                                                                   \
    T __tsan_atomic##bits##_fetch_sub(volatile T* at, T value, int order) {                             \
        return changed<T>(at, order, [=](T was) { return static_cast<T>(was - value); });               \
    }                                                                                                   \
    int __tsan_atomic##bits##_compare_exchange_strong(volatile T* at, T* expected, T wanted, int order, \
                                                      int) {                                            \
        const T want_from = *expected;                                                                  \
        const T was =                                                                                   \
            changed<T>(at, order, [=](T before) { return before == want_from ? wanted : before; });     \
        *expected = was;                                                                                \
        return was == want_from ? 1 : 0;                                                                \
    }                                                                                                   \
    int __tsan_atomic##bits##_compare_exchange_weak(volatile T* at, T* expected, T wanted, int order,   \
                                                    int failing) {                                      \
        return __tsan_atomic##bits##_compare_exchange_strong(at, expected, wanted, order, failing);     \
    }

#pragma GCC diagnostic ignored "-Wmissing-declarations"
extern "C" {
PLAIN(1)
PLAIN(2)
PLAIN(4)
PLAIN(8)
PLAIN(16)
ATOMIC(8, uint8_t)
ATOMIC(16, uint16_t)
ATOMIC(32, uint32_t)
ATOMIC(64, uint64_t)
void __tsan_init() {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}
void __tsan_vptr_update(void**, void*) {}
void __tsan_vptr_read(void**) {}
void __tsan_read_range(void* at, size_t bytes) { model::announce(at, bytes, Access::read); }
void __tsan_write_range(void* at, size_t bytes) { model::announce(at, bytes, Access::write); }
void __tsan_atomic_thread_fence(int) {}
void __tsan_atomic_signal_fence(int) {}
}
