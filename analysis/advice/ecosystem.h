// What a program is written in, as far as its traces tell: which framework's libraries were loaded, whose
// kernels ran, which profiler made the traces; and whose GPUs it runs on. A framework that nothing tells of
// is not assumed. One thread.
#pragma once

#include <cstdint>

struct sqlite3;

namespace gpushim::analysis {

// Readers of an advice; the columns `who` of advice.def.
enum class Who : uint8_t { any, pytorch, tensorflow, jax, python, other };

struct Ecosystem {
    bool pytorch = false, tensorflow = false, jax = false;
    bool python = false;
    bool hip = false;  // its GPUs are AMD's

    bool has_framework() const { return pytorch || tensorflow || jax; }
    bool is(Who who) const;
};

Ecosystem ecosystem_of(sqlite3* run);

}  // namespace gpushim::analysis
