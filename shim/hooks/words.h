// How a row of the hook tables takes an event's four words from the arguments of a call. A word is a type
// with `take(arguments, succeeded)`; rows name them:
//
//   arg<N>            the Nth argument as it is (pointers as numbers)
//   out<N>            what the Nth argument points to; 0 where it is null or the call failed
//   field<N, &S::m>   member m of the struct that the Nth argument points to
//   grid<N>, block<N> the launch geometry that starts at the Nth argument
//   constant<V>, none V, 0
//   product<W…>       the words multiplied
//   text<N>           the length of the string that the Nth argument is; its bytes follow the event
//   makes<K>          no word: what kind of node the call makes of the third word
//   each<N, C, W…>    one event for every element of the array in argument N; argument C says how many.
//                     Words of an element: item<N>, item_field<N, &S::m>
//
// Words that know CUDA's or NCCL's structs are in cuda_words.h and nccl_words.h. All inlined; nothing here
// may fail. Pointers are followed only where the API requires them to be valid, and only after the real call
// accepted them; but for what says which stream, inside a window or while captures are under way, and whether
// a launch is programmatic, inside a window.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <tuple>
#include <type_traits>

#include "../ring/ring_format.h"

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

template <class... W>
struct product {
    template <class A>
    static uint64_t take(const A& arguments, bool succeeded) {
        return (uint64_t{1} * ... * W::take(arguments, succeeded));
    }
};

// x | y << 32 | z << 48, of a valid launch without loss.
inline uint64_t packed_grid(uint64_t x, uint64_t y, uint64_t z) {
    return x | (y & 0xffff) << 32 | (z & 0xffff) << 48;
}

// x:11 y:11 z:7 | shared memory << 32.
inline uint64_t packed_block(uint64_t x, uint64_t y, uint64_t z, uint64_t shared) {
    return (x & 0x7ff) | (y & 0x7ff) << 11 | (z & 0x7f) << 22 | shared << 32;
}

template <size_t N>
struct grid {
    template <class A>
    static uint64_t take(const A& a, bool) {
        return packed_grid(std::get<N>(a), std::get<N + 1>(a), std::get<N + 2>(a));
    }
};

// Shared memory follows the block's three arguments.
template <size_t N>
struct block {
    template <class A>
    static uint64_t take(const A& a, bool) {
        return packed_block(std::get<N>(a), std::get<N + 1>(a), std::get<N + 2>(a), std::get<N + 3>(a));
    }
};

// What the oldest launches say of the grid; their block was set by calls before.
template <size_t N>
struct flat_grid {
    template <class A>
    static uint64_t take(const A& a, bool) {
        return packed_grid(static_cast<uint32_t>(std::get<N>(a)), static_cast<uint32_t>(std::get<N + 1>(a)),
                           1);
    }
};

template <size_t N>
struct text {
    static constexpr size_t text_argument = N;
    template <class A>
    static uint64_t take(const A&, bool) {
        return 0;  // the thunk puts in how many bytes it could write
    }
};

template <size_t N>
struct item {
    template <class A>
    static uint64_t take(const A& arguments, bool, size_t i) {
        const auto* list = std::get<N>(arguments);
        return list != nullptr ? number(list[i]) : 0;
    }
};

template <size_t N, auto Member>
struct item_field {
    template <class A>
    static uint64_t take(const A& arguments, bool, size_t i) {
        return number(std::get<N>(arguments)[i].*Member);
    }
};

template <size_t N>
struct item_grid {
    template <class A>
    static uint64_t take(const A& arguments, bool, size_t i) {
        const auto& launch = std::get<N>(arguments)[i];
        return packed_grid(launch.gridDimX, launch.gridDimY, launch.gridDimZ);
    }
};

template <size_t N>
struct item_block {
    template <class A>
    static uint64_t take(const A& arguments, bool, size_t i) {
        const auto& launch = std::get<N>(arguments)[i];
        return packed_block(launch.blockDimX, launch.blockDimY, launch.blockDimZ, launch.sharedMemBytes);
    }
};

template <size_t List, size_t Count, class... W>
struct each;

// Names longer than this are cut: a ring holds them whole.
constexpr size_t kLongestText = 4096;

inline size_t text_length(const char* text) { return text != nullptr ? strnlen(text, kLongestText) : 0; }

template <class W, class A>
inline uint64_t take(const A& arguments, bool succeeded, size_t i) {
    if constexpr (requires { W::take(arguments, succeeded, i); }) {
        return W::take(arguments, succeeded, i);
    } else {
        return W::take(arguments, succeeded);
    }
}

// A word that a row lists beyond the four: it makes a second slot (thunk.h).
template <class W>
concept Second = requires {
    typename W::second_slot;
};
template <class W>
concept Text = requires {
    W::text_argument;
};

// A word that is none: it says what node of a graph the call makes, which holds what the third word is.
template <class W>
concept Made = requires {
    typename W::made_node;
};

template <GraphNode Kind>
struct makes {
    using made_node = void;
    template <class A>
    static bool take_kind(GraphNode& kind, const A&) {
        kind = Kind;
        return true;
    }
};

template <class... W>
struct Words {
    static_assert(((Second<W> || Made<W> ? 0 : 1) + ... + 0) <= 4);
    static constexpr bool makes_node = (Made<W> || ...);
    static constexpr bool has_text = (Text<W> || ...);
    static constexpr bool has_second = (Second<W> || ...);
    static constexpr bool is_list = false;

    template <class A>
    static uint64_t first(const A& arguments) {
        return word<0>(arguments);
    }
    // Of a launch, before the call: whether it may begin before what lies before it in its stream is over.
    template <class A>
    static bool is_programmatic(const A& arguments) {
        return (is_programmatic_of<W>(arguments) || ...);
    }
    // One word alone, also before the call: nothing that the others point to is looked at.
    template <size_t I, class A>
    static uint64_t word(const A& arguments) {
        if constexpr (I < sizeof...(W))
            return std::tuple_element_t<I, std::tuple<W...>>::take(arguments, true);
        else
            return 0;
    }
    template <class A>
    static const char* text(const A& arguments, bool succeeded) {
        const char* found = nullptr;
        (find_text<W>(found, arguments), ...);
        return succeeded ? found : nullptr;
    }
    template <class A>
    static bool take_second(event::odd_launch& to, const A& arguments) {
        return (take_second_of<W>(to, arguments) || ...);
    }

    // Of a call that succeeded. False: a kind that nobody here knows.
    template <class A>
    static bool take_made(GraphNode& kind, const A& arguments) {
        return (take_made_of<W>(kind, arguments) || ...);
    }

    template <class A>
    static size_t count(const A&, bool) {
        return 1;
    }
    // All of a call that succeeded, by their names.
    template <class E, class A>
    static E as(const A& arguments) {
        uint64_t words[4];
        store(words, arguments, true);
        E event;
        std::memcpy(&event, words, sizeof event);
        return event;
    }
    template <class A>
    static void store(uint64_t (&to)[4], const A& arguments, bool succeeded, size_t index = 0) {
        size_t i = 0;
        (store_one<W>(to, i, arguments, succeeded, index), ...);
        while (i < 4) to[i++] = 0;
    }

  private:
    template <class One, class A>
    static void find_text(const char*& found, const A& arguments) {
        if constexpr (Text<One>) found = std::get<One::text_argument>(arguments);
    }
    template <class One, class A>
    static bool is_programmatic_of(const A& arguments) {
        if constexpr (requires { One::is_programmatic(arguments); })
            return One::is_programmatic(arguments);
        else
            return false;
    }
    template <class One, class A>
    static bool take_second_of(event::odd_launch& to, const A& arguments) {
        if constexpr (Second<One>) {
            return One::take_all(to, arguments);
        } else {
            return false;
        }
    }
    template <class One, class A>
    static bool take_made_of(GraphNode& kind, const A& arguments) {
        if constexpr (Made<One>) {
            return One::take_kind(kind, arguments);
        } else {
            return false;
        }
    }
    template <class One, class A>
    static void store_one(uint64_t (&to)[4], size_t& i, const A& arguments, bool succeeded, size_t index) {
        if constexpr (!Second<One> && !Made<One>) to[i++] = take<One>(arguments, succeeded, index);
    }
};

template <size_t List, size_t Count, class... W>
struct Words<each<List, Count, W...>> {
    static constexpr bool makes_node = false;
    static constexpr bool has_text = false;
    static constexpr bool has_second = false;
    static constexpr bool is_list = true;

    template <class A>
    static const char* text(const A&, bool) {
        return nullptr;
    }
    template <class A>
    static size_t count(const A& arguments, bool succeeded) {
        return succeeded && std::get<List>(arguments) != nullptr
                   ? static_cast<size_t>(number(std::get<Count>(arguments)))
                   : 0;
    }
    template <class A>
    static void store(uint64_t (&to)[4], const A& arguments, bool succeeded, size_t index = 0) {
        if (index < count(arguments, succeeded)) {
            Words<W...>::store(to, arguments, succeeded, index);
        } else {
            std::memset(to, 0, sizeof to);
        }
    }
};

}  // namespace gpushim::shim::words
