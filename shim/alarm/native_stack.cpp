#include "native_stack.h"

#include <array>
#include <optional>

#include "../python/own_memory.h"
#include "frame_rules.h"

namespace gpushim::shim {
namespace {

#if defined(__aarch64__)
constexpr size_t kStackPointer = 31;
#else
constexpr size_t kStackPointer = 7;
#endif

using Registers = std::array<std::optional<uint64_t>, kFrameRegisters>;

// None: it is not known, or memory has gone.
std::optional<uint64_t> frame_address(const FrameRule& rule, const Registers& registers) {
    if (rule.cfa_register >= kFrameRegisters || !registers[rule.cfa_register]) return {};
    return *registers[rule.cfa_register] + static_cast<uint64_t>(rule.cfa_offset);
}

Registers of_caller(const FrameRule& rule, uint64_t cfa, Registers registers) {
    for (size_t i = 0; i < kFrameRegisters; ++i) {
        const int64_t saved = rule.saved[i];
        if (saved == kUnchanged) continue;
        uint64_t value = 0;
        const bool is_saved = saved != kLost && saved != kUndefined;
        const bool is_known = is_saved && read_own(cfa + static_cast<uint64_t>(saved), value);
        registers[i] = is_known ? std::optional(value) : std::nullopt;
    }
    registers[kStackPointer] = cfa;
    return registers;
}

}  // namespace

NativeStack native_stack(const MemoryMap& map, uint64_t stack_pointer, uint64_t place) {
    NativeStack stack;
    Registers registers;
    registers[kStackPointer] = stack_pointer;
    while (stack.places.size() < kMostNativeFrames && map.at(place) != nullptr) {
        // A call may be the last thing in a function: its return address is the next function's.
        const auto rule = frame_rule(map, stack.places.empty() ? place : place - 1);
        stack.places.push_back(place);
        if (!rule || rule->return_register >= kFrameRegisters) return stack;
        const auto cfa = frame_address(*rule, registers);
        stack.is_whole = rule->saved[rule->return_register] == kUndefined;
        if (!cfa || *cfa <= *registers[kStackPointer] || stack.is_whole) return stack;
        registers = of_caller(*rule, *cfa, registers);
        place = registers[rule->return_register].value_or(0);
        // A leaf's return address is in its register; that of the next frame would be the same.
        registers[rule->return_register].reset();
    }
    return stack;
}

}  // namespace gpushim::shim
