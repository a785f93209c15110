// The Python frames of a thread of this process, read while it goes on (own_memory.h): it may move under our
// eyes, so what was read is compared with what is there afterwards. Cold threads; no code of the interpreter
// runs and its lock is not taken.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "layout.h"

namespace gpushim::shim {

// What the interpreter does for the thread, in place of running its code; as python_sample.doing.
enum class PythonDoing : int8_t { not_known = -1, neither, waits_for_lock, collects_garbage };

constexpr size_t kMostFrames = 128;  // the innermost
constexpr size_t kMostTextBytes = 4096;
constexpr size_t kMostTableBytes = 65536;

struct PythonFrame {
    uint64_t frame, code, caller;
    uint64_t instruction;  // as the layout says
    // Of the code.
    uint64_t file, name, table;  // where these objects are
    int64_t first_line;
};

struct PythonStack {
    size_t count = 0;
    bool is_cut = false;  // there are more callers
    PythonDoing doing = PythonDoing::not_known;
    std::array<PythonFrame, kMostFrames> frames;  // the innermost first
};

enum class StackSeen : uint8_t {
    frames,
    no_python,  // the interpreter knows no such thread, or it is in no Python
    moved,      // it went on meanwhile, or memory was gone
};

// Which word of a thread's own memory (pthread_self()) has its number, counted in bytes: told by the calling
// thread's. kNo: cannot be told. For versions before 3.11, and threads that forked.
uint32_t find_number_in_pthread();

StackSeen read_stack(const Python& python, uint32_t number_in_pthread, int32_t tid, PythonStack& to);
// In two parts. The thread as the interpreter knows it, 0: it does not, or it is in no Python; good for a
// moment only, as it may end. And its frames, without what the interpreter is doing.
uint64_t find_python_thread(const Python& python, uint32_t number_in_pthread, int32_t tid);
StackSeen read_frames(const Python& python, uint64_t thread, PythonStack& to);
// Whether the innermost frame is where it was: it has not returned from what it called then.
bool is_in_same_call(const Python& python, const PythonStack& stack);

// UTF-8, at most kMostTextBytes. nullopt: it is no text, or has gone.
std::optional<std::string> read_text(const Python& python, uint64_t object);
// kNull of rows is the caller's: nullopt, if no line can be told.
std::optional<int64_t> read_line(const Python& python, const PythonFrame& frame);

}  // namespace gpushim::shim
