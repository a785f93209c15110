// The line of an instruction, by the line table of its code. Pure; any thread.
#pragma once

#include <cstdint>
#include <span>

namespace gpushim::shim {

constexpr int64_t kNoLine = -1;

// `minor` of the interpreter's version: 9 pairs of steps, 10 pairs of spans, from 11 on entries with
// positions. `at`: the instruction, in bytes from the first one. kNoLine: the table tells none.
int64_t line_of(int minor, std::span<const unsigned char> table, int64_t first_line, int64_t at);

}  // namespace gpushim::shim
