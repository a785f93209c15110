// By which rule a function's caller is found: what .eh_frame of its library says for one place in it (DWARF's
// call frame information as the LSB keeps it, of the 64-bit processors that gpushim runs on). All is read as
// memory that may go. Any thread.
//
//   rule   CFA = register + offset;  what the caller had in a register is at CFA + its offset
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "memory_map.h"

namespace gpushim::shim {

constexpr size_t kFrameRegisters = 34;  // by DWARF's numbers; with those that hold a return address
constexpr int64_t kUnchanged = INT64_MAX, kLost = INT64_MIN, kUndefined = INT64_MIN + 1;

struct FrameRule {
    uint64_t cfa_register = 0;
    int64_t cfa_offset = 0;
    uint64_t return_register = 0;                  // where the return address counts as being
    std::array<int64_t, kFrameRegisters> saved{};  // offset from the CFA, or one of those above
};

// None: nothing says how, or in a way that is not read here.
std::optional<FrameRule> frame_rule(const MemoryMap& map, uint64_t place);

}  // namespace gpushim::shim
