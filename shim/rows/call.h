// An event with what all kinds need of it to become a row. Lives while its batch does; the writer's thread
// only.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "../calls/api.h"
#include "batch.h"
#include "handles.h"

namespace gpushim::shim {

struct Call {
    const Event& event;
    const event::odd_launch* odd;  // of a launch's second slot, or null
    uint32_t traits;
    int64_t api;
    int64_t enter_ns;
    int64_t dur_ns;
    int64_t thread;
    int64_t group;
    int64_t flags;
    bool finished;
    bool succeeded;  // finished, and all words count

    // What its words say: of a failed call the fourth is the error, of an unfinished one nothing is said.
    template <class E>
    E words() const {
        static_assert(sizeof(E) % sizeof(uint64_t) == 0);
        E words = {};
        const size_t said = succeeded ? sizeof event.slot.word : kErrorWord * sizeof(uint64_t);
        if (finished) std::memcpy(&words, event.slot.word, std::min(sizeof words, said));
        return words;
    }
    // Of a kind whose first word is one.
    uint64_t handle() const { return words<event::other>().handle; }
    bool has(uint32_t trait) const { return (traits & trait) != 0; }
    Object object() const { return static_cast<Object>((traits & traits::object_bits) / traits::of_stream); }
};

}  // namespace gpushim::shim
