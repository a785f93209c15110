// How a row of the hook tables takes a slot's four words from the arguments of a call. A word is a type with
// `take(arguments)`; rows name them:
//
//   arg<N>        the Nth argument as it is (pointers as numbers; -1-free: whatever its type, zero-extended)
//   out<N>        what the Nth argument points to, after a successful call; 0 where it is null or the call failed
//   field<N, &S::m>  member m of the struct that the Nth argument points to
//   grid<N>, block<N>  the launch geometry that starts at the Nth argument
//   constant<V>   V
//   none          0
//
// All inlined; nothing here may fail or call anything. Pointers are followed only where the API requires them to be
// valid and only after the real call has accepted them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <tuple>
#include <type_traits>

namespace gpushim::shim::words {

template <class T>
inline uint64_t number(T value) {
    if constexpr (std::is_pointer_v<T>) {
        return reinterpret_cast<uint64_t>(value);
    } else {
        static_assert(sizeof(T) <= sizeof(uint64_t) && std::is_trivially_copyable_v<T>);
        uint64_t bits = 0;
        std::memcpy(&bits, &value, sizeof value);
        return bits;
    }
}

struct none {
    template <class A>
    static uint64_t take(const A&, bool) {
        return 0;
    }
};

template <uint64_t V>
struct constant {
    template <class A>
    static uint64_t take(const A&, bool) {
        return V;
    }
};

template <size_t N>
struct arg {
    template <class A>
    static uint64_t take(const A& arguments, bool) {
        return number(std::get<N>(arguments));
    }
};

template <size_t N>
struct out {
    template <class A>
    static uint64_t take(const A& arguments, bool succeeded) {
        const auto* pointer = std::get<N>(arguments);
        return succeeded && pointer != nullptr ? number(*pointer) : 0;
    }
};

template <size_t N, auto Member>
struct field {
    template <class A>
    static uint64_t take(const A& arguments, bool succeeded) {
        const auto* pointer = std::get<N>(arguments);
        return succeeded && pointer != nullptr ? number(pointer->*Member) : 0;
    }
};

// x | y << 32 | z << 48; what does not fit is told by an odd_launch event (thunk.h).
template <size_t N>
struct grid {
    template <class A>
    static uint64_t take(const A& a, bool) {
        return uint64_t{std::get<N>(a)} | uint64_t{std::get<N + 1>(a) & 0xffff} << 32 |
               uint64_t{std::get<N + 2>(a) & 0xffff} << 48;
    }
};

// x:11 y:11 z:7 | shared memory << 32, which follows the block's three arguments.
template <size_t N>
struct block {
    template <class A>
    static uint64_t take(const A& a, bool) {
        return uint64_t{std::get<N>(a) & 0x7ff} | uint64_t{std::get<N + 1>(a) & 0x7ff} << 11 |
               uint64_t{std::get<N + 2>(a) & 0x7f} << 22 | uint64_t{std::get<N + 3>(a)} << 32;
    }
};

template <class... W>
struct Words {
    static_assert(sizeof...(W) <= 4);
    template <class A>
    static void store(uint64_t (&to)[4], const A& arguments, bool succeeded) {
        size_t i = 0;
        ((to[i++] = W::take(arguments, succeeded)), ...);
        while (i < 4) to[i++] = 0;
    }
};

}  // namespace gpushim::shim::words
