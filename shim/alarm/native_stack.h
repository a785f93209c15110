// The native frames of a thread that is blocked in the kernel, without touching it: /proc has its stack
// pointer and its place, and each library has the rules by which one frame leads to the next (frame_rules.h).
//
//   /proc/…/syscall    stack pointer, place       poll
//   rule of a place    CFA, return address        wait_for_work, main, …
//
// Its other registers are not known, but for those that a frame has saved on the stack. A frame that is found
// by one that is not known ends the list, and so does code without rules, made at run time. Rejected:
// libunwind, which wants all registers, and asks the loader for libraries, whose lock the stuck thread may
// have. Any thread.
#pragma once

#include <cstdint>
#include <vector>

#include "memory_map.h"

namespace gpushim::shim {

struct NativeStack {
    std::vector<uint64_t> places;  // the innermost first: where it is, then where each call returns to
    bool is_whole = false;         // the last one is where the thread began
};

constexpr size_t kMostNativeFrames = 64;
NativeStack native_stack(const MemoryMap& map, uint64_t stack_pointer, uint64_t place);

}  // namespace gpushim::shim
