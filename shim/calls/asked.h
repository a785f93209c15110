// A function that we call ourselves, past every hook: asked for by name once, and remembered when it was
// found. Any thread.
#pragma once

#include <atomic>

#include "resolve.h"

namespace gpushim::shim {

template <class F>
struct Asked {
    void* (*find)(const char*);
    const char* name;
    std::atomic<F*> known;

    F* get() {
        // Relaxed: whoever looks finds the same.
        F* function = known.load(std::memory_order_relaxed);
        if (function != nullptr) return function;
        function = reinterpret_cast<F*>(find(name));
        known.store(function, std::memory_order_relaxed);
        return function;
    }
};

#define ASKED(find, name) constinit Asked<decltype(::name)> asked_##name = {find, #name, nullptr}

}  // namespace gpushim::shim
