#include "stack.h"

#include <pthread.h>

#include <algorithm>
#include <cstring>
#include <memory>

#include "../base/system.h"
#include "../machine/proc_thread.h"
#include "lines.h"
#include "own_memory.h"

namespace gpushim::shim {
namespace {

constexpr int kMostInterpreters = 64, kMostThreads = 4096;
constexpr uint64_t kTagBits = 7;  // of a reference to an object, from 3.14 on
// Owners of frames from there on are the interpreter itself, between two frames of Python.
constexpr unsigned char kOwnedByInterpreter = 3;
constexpr size_t kMostPieceBytes = 512;
// The lock: who had it last, whether it is taken, and what is waited at for it.
constexpr size_t kLockHolderAt = 8, kLockTakenAt = 16, kLockBytes = 208;
constexpr size_t kTypeAt = 8, kLengthAt = 16, kBytesAt = 32, kStateAt = 32;

uint64_t pointer_at(uint64_t object, uint32_t offset) {
    uint64_t value = 0;
    return object != 0 && read_own(object + offset, value) ? value : 0;
}

// The frame that the thread is in; 0: none.
uint64_t current_frame(const PythonLayout& layout, uint64_t thread) {
    const uint64_t frame = pointer_at(thread, layout.thread_frame);
    return layout.frame_in_thread_frame == kNo ? frame : pointer_at(frame, layout.frame_in_thread_frame);
}

bool is_of(const PythonLayout& layout, uint32_t number_in_pthread, uint64_t thread, int32_t tid) {
    uint64_t number = 0;
    if (layout.thread_native != kNo && read_own(thread + layout.thread_native, number) &&
        number == static_cast<uint64_t>(tid))
        return true;
    // Of a thread that forked older interpreters keep the old number.
    int32_t own_number = 0;
    const uint64_t pthread = pointer_at(thread, layout.thread_pthread);
    return number_in_pthread != kNo && pthread != 0 && read_own(pthread + number_in_pthread, own_number) &&
           own_number == tid;
}

// Of a thread in several interpreters that one in which it is, the newest: it comes first.
uint64_t find_thread(const Python& python, uint32_t number_in_pthread, int32_t tid) {
    const PythonLayout& layout = python.layout;
    uint64_t interpreter = pointer_at(python.runtime, layout.runtime_interpreters);
    int threads = 0;
    for (int i = 0; i < kMostInterpreters && interpreter != 0; ++i) {
        uint64_t thread = pointer_at(interpreter, layout.interpreter_threads);
        for (; threads < kMostThreads && thread != 0; ++threads) {
            if (pointer_at(thread, layout.thread_interpreter) != interpreter) break;
            if (is_of(layout, number_in_pthread, thread, tid) && current_frame(layout, thread) != 0)
                return thread;
            thread = pointer_at(thread, layout.thread_next);
        }
        interpreter = pointer_at(interpreter, layout.interpreter_next);
    }
    return 0;
}

size_t frame_bytes(const PythonLayout& layout) {
    const size_t last = std::max({layout.frame_code, layout.frame_caller, layout.frame_instruction});
    const size_t owner = layout.frame_owner == kNo ? 0 : layout.frame_owner;
    return std::max(last + sizeof(uint64_t), owner + 1);
}

// Whether it is one of Python's; the interpreter's own have no line.
bool read_frame(const PythonLayout& layout, uint64_t at, PythonFrame& frame, bool& is_python) {
    unsigned char piece[kMostPieceBytes];
    const size_t size = frame_bytes(layout);
    if (size > sizeof piece || !read_own(at, piece, size)) return false;
    frame = {};
    frame.frame = at;
    frame.code = part_of<uint64_t>(piece, layout.frame_code) & ~kTagBits;
    frame.caller = part_of<uint64_t>(piece, layout.frame_caller);
    frame.instruction = part_of<uint64_t>(piece, layout.frame_instruction);
    is_python = layout.frame_owner == kNo || piece[layout.frame_owner] < kOwnedByInterpreter;
    return true;
}

// False: memory was gone.
bool walk(const PythonLayout& layout, uint64_t frame, PythonStack& stack) {
    stack.count = 0;
    stack.is_cut = false;
    for (size_t walked = 0; frame != 0; ++walked) {
        if (stack.count == kMostFrames || walked == 2 * kMostFrames) {
            stack.is_cut = true;
            return true;
        }
        bool is_python = false;
        PythonFrame& next = stack.frames[stack.count];
        if (!read_frame(layout, frame, next, is_python)) return false;
        frame = next.caller;
        if (is_python) ++stack.count;
    }
    return true;
}

// Whether all of them are where they were, and of the same code: the stack was this one at some moment.
bool is_still_there(const PythonLayout& layout, const PythonStack& stack) {
    const uint32_t first = std::min(layout.frame_code, layout.frame_caller);
    const size_t size = std::max(layout.frame_code, layout.frame_caller) + sizeof(uint64_t) - first;
    std::array<iovec, kMostFrames> there;
    unsigned char now[kMostFrames * 64];
    for (size_t i = 0; i < stack.count; ++i)
        there[i] = {reinterpret_cast<void*>(stack.frames[i].frame + first), size};
    if (size > 64 || !read_own_pieces(there.data(), stack.count, now, size)) return false;
    for (size_t i = 0; i < stack.count; ++i) {
        const unsigned char* piece = now + i * size;
        const PythonFrame& frame = stack.frames[i];
        if ((part_of<uint64_t>(piece, layout.frame_code - first) & ~kTagBits) != frame.code ||
            part_of<uint64_t>(piece, layout.frame_caller - first) != frame.caller)
            return false;
    }
    return true;
}

// False: one of them is no code, so what was read is no stack.
bool read_codes(const Python& python, PythonStack& stack) {
    const PythonLayout& layout = python.layout;
    const size_t size = std::max({layout.code_first_line, layout.code_file, layout.code_name,
                                  layout.code_table, static_cast<uint32_t>(kTypeAt)}) +
                        sizeof(uint64_t);
    unsigned char piece[kMostPieceBytes];
    if (size > sizeof piece) return false;
    for (size_t i = 0; i < stack.count; ++i) {
        PythonFrame& frame = stack.frames[i];
        if (!read_own(frame.code, piece, size) || part_of<uint64_t>(piece, kTypeAt) != python.code_type)
            return false;
        frame.file = part_of<uint64_t>(piece, layout.code_file);
        frame.name = part_of<uint64_t>(piece, layout.code_name);
        frame.table = part_of<uint64_t>(piece, layout.code_table);
        frame.first_line = part_of<int32_t>(piece, layout.code_first_line);
    }
    return true;
}

// A thread that waits for the lock is in a futex of it. Garbage is collected by who holds the lock.
PythonDoing doing_of(const Python& python, uint64_t thread, int32_t tid) {
    const PythonLayout& layout = python.layout;
    const uint64_t interpreter = pointer_at(thread, layout.thread_interpreter);
    const uint64_t lock = layout.runtime_lock != kNo ? python.runtime + layout.runtime_lock
                                                     : pointer_at(interpreter, layout.interpreter_lock);
    const auto futex = futex_of_thread(tid);
    unsigned char piece[kLockTakenAt + sizeof(int32_t)];
    int32_t collecting = 0;
    if (!futex || interpreter == 0 || !read_own(lock, piece) ||
        !read_own(interpreter + layout.interpreter_gc + layout.gc_collecting, collecting))
        return PythonDoing::not_known;
    if (*futex >= lock && *futex < lock + kLockBytes) return PythonDoing::waits_for_lock;
    const bool holds_lock =
        part_of<int32_t>(piece, kLockTakenAt) == 1 && part_of<uint64_t>(piece, kLockHolderAt) == thread;
    return collecting == 1 && holds_lock ? PythonDoing::collects_garbage : PythonDoing::neither;
}

void append_utf8(std::string& text, uint32_t point) {
    const auto tail = [&](int shift) { return static_cast<char>(0x80 | (point >> shift & 0x3f)); };
    if (point < 0x80) {
        text += static_cast<char>(point);
    } else if (point < 0x800) {
        text += {static_cast<char>(0xc0 | point >> 6), tail(0)};
    } else if (point < 0x10000) {
        // Half of a pair stands for a byte that was no UTF-8.
        if (point >= 0xd800 && point < 0xe000) return void(text += '?');
        text += {static_cast<char>(0xe0 | point >> 12), tail(6), tail(0)};
    } else {
        text += {static_cast<char>(0xf0 | (point >> 18 & 7)), tail(12), tail(6), tail(0)};
    }
}

std::string utf8_of(const unsigned char* data, size_t length, uint32_t width) {
    std::string text;
    for (size_t i = 0; i < length && text.size() < kMostTextBytes - 4; ++i) {
        const size_t at = i * width;
        append_utf8(text, width == 1   ? data[at]
                          : width == 2 ? part_of<uint16_t>(data, at)
                                       : part_of<uint32_t>(data, at));
    }
    return text;
}

}  // namespace

// The threads' own number stands in what pthread_self() points to; nobody says where, and it must be clear.
uint32_t find_number_in_pthread() {
    constexpr uint32_t kLookedAt = 2048, kPiece = 64;  // no piece lies on two pages
    const auto self = reinterpret_cast<uint64_t>(pthread_self());
    const int32_t tid = thread_id();
    uint32_t found = kNo;
    for (uint64_t piece = self / kPiece * kPiece; piece < self + kLookedAt; piece += kPiece) {
        int32_t words[kPiece / sizeof tid];
        if (!read_own(piece, words)) continue;
        for (size_t i = 0; i < std::size(words); ++i) {
            const uint64_t at = piece + i * sizeof tid;
            if (words[i] != tid || at < self) continue;
            if (found != kNo) return kNo;
            found = static_cast<uint32_t>(at - self);
        }
    }
    return found;
}

uint64_t find_python_thread(const Python& python, uint32_t number_in_pthread, int32_t tid) {
    return find_thread(python, number_in_pthread, tid);
}

bool is_in_same_call(const Python& python, const PythonStack& stack) {
    uint64_t instruction = 0;
    const PythonFrame& innermost = stack.frames[0];
    return read_own(innermost.frame + python.layout.frame_instruction, instruction) &&
           instruction == innermost.instruction;
}

StackSeen read_stack(const Python& python, uint32_t number_in_pthread, int32_t tid, PythonStack& to) {
    const uint64_t thread = find_thread(python, number_in_pthread, tid);
    if (thread == 0) return StackSeen::no_python;
    const PythonDoing doing = doing_of(python, thread, tid);
    const StackSeen seen = read_frames(python, thread, to);
    to.doing = doing;
    return seen;
}

StackSeen read_frames(const Python& python, uint64_t thread, PythonStack& to) {
    const uint64_t frame = current_frame(python.layout, thread);
    if (frame == 0) return StackSeen::no_python;
    if (!walk(python.layout, frame, to)) return StackSeen::moved;
    if (to.count == 0) return StackSeen::no_python;
    const bool is_whole = read_codes(python, to) && is_still_there(python.layout, to) &&
                          current_frame(python.layout, thread) == frame;
    return is_whole ? StackSeen::frames : StackSeen::moved;
}

std::optional<std::string> read_text(const Python& python, uint64_t object) {
    unsigned char head[kStateAt + sizeof(uint32_t)];
    if (!read_own(object, head) || part_of<uint64_t>(head, kTypeAt) != python.unicode_type)
        return std::nullopt;
    const auto length = part_of<uint64_t>(head, kLengthAt);
    const auto state = part_of<uint32_t>(head, kStateAt);
    const uint32_t kind_at = python.layout.kind_shift;
    const uint32_t width = state >> kind_at & 7;
    const bool is_compact = (state >> (kind_at + 3) & 1) != 0, is_ascii = (state >> (kind_at + 4) & 1) != 0;
    if (!is_compact || (width != 1 && width != 2 && width != 4)) return std::nullopt;
    const size_t taken = std::min<size_t>(length, kMostTextBytes / width);
    unsigned char data[kMostTextBytes];
    const uint64_t from = object + (is_ascii ? python.layout.ascii_text : python.layout.other_text);
    if (taken != 0 && !read_own(from, data, taken * width)) return std::nullopt;
    return utf8_of(data, taken, width);
}

std::optional<int64_t> read_line(const Python& python, const PythonFrame& frame) {
    uint64_t size = 0;
    if (!read_own(frame.table + kLengthAt, size) || size > kMostTableBytes) return std::nullopt;
    const auto table = std::make_unique<unsigned char[]>(size);
    if (size != 0 && !read_own(frame.table + kBytesAt, table.get(), size)) return std::nullopt;
    const auto number = static_cast<int32_t>(frame.instruction);
    int64_t at = number;
    if (python.layout.instruction_is == InstructionIs::units && number >= 0) at = int64_t{number} * 2;
    if (python.layout.instruction_is == InstructionIs::address)
        at = static_cast<int64_t>(frame.instruction - frame.code - python.layout.code_instructions);
    const int64_t line = line_of(python.minor, {table.get(), size}, frame.first_line, at);
    return line == kNoLine ? std::nullopt : std::optional(line);
}

}  // namespace gpushim::shim
