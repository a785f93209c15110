// Where the interpreter of this process keeps what we read. Known for CPython 3.9 to 3.14; of every other one
// `why_not` says why nothing is read. Cold threads.
#pragma once

#include <cstdint>

#include "exported.h"

namespace gpushim::shim {

constexpr uint32_t kNo = UINT32_MAX;

// How a frame tells where it is.
enum class InstructionIs : uint8_t { bytes, units, address };

// Offsets in bytes, into the structure that the name begins with.
struct PythonLayout {
    uint32_t runtime_interpreters, interpreter_next, interpreter_threads;
    uint32_t thread_next, thread_interpreter, thread_pthread, thread_native, thread_frame;
    uint32_t frame_in_thread_frame;  // kNo: a thread names its frame itself
    uint32_t frame_code, frame_caller, frame_instruction, frame_owner;
    uint32_t code_first_line, code_file, code_name, code_table, code_instructions;
    uint32_t ascii_text, other_text;
    uint32_t kind_shift;  // bit of a string's state at which the width of its characters stands
    InstructionIs instruction_is;
    // Whether garbage is collected: an int; the lock: in the runtime itself, or where an interpreter points
    // to.
    uint32_t interpreter_gc, gc_collecting, runtime_lock, interpreter_lock;
};

struct Python {
    PythonLayout layout;
    uint64_t runtime, code_type, unicode_type;
    int minor;
    char version[16];  // 3.11.7; 3.10 where it does not say more; empty: there is none
    char why_not[80];  // empty: it can be read
};

// What there is now.
Python find_python();

// Parts of it, for tests. Py_Version has a byte each for major, minor, micro and level.
bool is_known(int minor);
void describe(Python& python, const PythonExports& exports);

}  // namespace gpushim::shim
