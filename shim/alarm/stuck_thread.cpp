#include "stuck_thread.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <memory>

#include "../calls/api.h"
#include "../machine/proc_thread.h"
#include "../python/stack.h"
#include "../ring/quiet.h"
#include "../sqlite/rows.h"
#include "memory_map.h"
#include "native_stack.h"

namespace gpushim::shim {
namespace {

constexpr int kTries = 3;

std::string_view without_newline(std::string_view text) {
    return text.ends_with('\n') ? text.substr(0, text.size() - 1) : text;
}

void read_native(const MemoryMap& map, std::string_view syscall, StuckThread& thread) {
    const Where where = parse_where(syscall);
    if (where.place == 0) return;
    const NativeStack stack = native_stack(map, where.stack_pointer, where.place);
    char text[1024];
    const bool has_moved = read_of_thread(thread.tid, "syscall", text) != syscall;
    for (const uint64_t place : stack.places) {
        thread.native.push_back(map.place(place));
        if (has_moved) return;  // the first one was true once
    }
    thread.is_native_whole = stack.is_whole;
}

void read_kernel(const MemoryMap& map, StuckThread& thread) {
    char text[1024];
    thread.name = without_newline(read_of_thread(thread.tid, "comm", text));
    thread.state = parse_state(read_of_thread(thread.tid, "stat", text));
    thread.cpu_ns = cpu_ns_of_thread(thread.tid);
    const std::string_view wchan = without_newline(read_of_thread(thread.tid, "wchan", text));
    if (wchan != "0") thread.wchan = wchan;
    const std::string_view syscall = read_of_thread(thread.tid, "syscall", text);
    const auto in = parse_syscall(syscall);
    if (!in || in->running) return;
    thread.blocked_on = name_of(class_of(in->number, thread.state));
    read_native(map, syscall, thread);
}

void read_python(const Python& python, uint32_t number_in_pthread, StuckThread& thread) {
    const auto stack = std::make_unique<PythonStack>();
    auto seen = StackSeen::moved;
    for (int i = 0; i < kTries && seen == StackSeen::moved; ++i)
        seen = read_stack(python, number_in_pthread, thread.tid, *stack);
    if (seen != StackSeen::frames) return;
    for (size_t i = 0; i < stack->count; ++i) {
        const PythonFrame& frame = stack->frames[i];
        const auto file = read_text(python, frame.file), function = read_text(python, frame.name);
        if (!file || !function) return;
        thread.python.push_back({*file, *function, read_line(python, frame).value_or(kNull)});
    }
}

int64_t age_ns(uint64_t enter) { return process_state->gap_ticks == 0 ? kNull : quiet_ns(enter); }

std::vector<StuckThread> threads_of(const std::vector<WaitingCall>& calls) {
    std::vector<StuckThread> threads;
    for (size_t i = 0; i < std::min(calls.size(), kMostThreads); ++i)
        threads.push_back({.tid = calls[i].tid,
                           .name = {},
                           .call = calls[i].api < kApis ? api_traits[calls[i].api].base : nullptr,
                           .call_ns = age_ns(calls[i].enter),
                           .wchan = {},
                           .cpu_ns = kNull,
                           .native = {},
                           .python = {}});
    const auto is_main = [](const StuckThread& thread) { return thread.tid == getpid(); };
    if (std::none_of(threads.begin(), threads.end(), is_main))
        threads.push_back({.tid = getpid(),
                           .name = {},
                           .call_ns = kNull,
                           .wchan = {},
                           .cpu_ns = kNull,
                           .native = {},
                           .python = {}});
    return threads;
}

}  // namespace

int64_t parse_cpu_ns(std::string_view schedstat) {
    int64_t number = 0;
    const auto [end, error] = std::from_chars(schedstat.data(), schedstat.data() + schedstat.size(), number);
    return error == std::errc() ? number : kNull;
}

// "202 0x7f31c8a2b4f8 … SP PC": the last two words.
Where parse_where(std::string_view syscall) {
    syscall = without_newline(syscall);
    uint64_t words[2] = {};
    for (uint64_t& word : words) {
        const size_t at = syscall.rfind(" 0x");
        if (at == std::string_view::npos) return {};
        std::from_chars(syscall.data() + at + 3, syscall.data() + syscall.size(), word, 16);
        syscall = syscall.substr(0, at);
    }
    return {words[1], words[0]};
}

int64_t cpu_ns_of_thread(int32_t tid) {
    char text[1024];
    return parse_cpu_ns(read_of_thread(tid, "schedstat", text));
}

std::vector<StuckThread> look_at_stuck(const std::vector<WaitingCall>& calls, bool wants_python) {
    std::vector<StuckThread> threads = threads_of(calls);
    const MemoryMap map = MemoryMap::of_this_process();
    for (StuckThread& thread : threads) read_kernel(map, thread);
    std::erase_if(threads, [](const StuckThread& thread) { return thread.is_gone(); });
    const Python python = wants_python ? find_python() : Python{};
    if (python.runtime == 0 || python.why_not[0] != '\0') return threads;
    const uint32_t number_in_pthread = find_number_in_pthread();
    for (StuckThread& thread : threads) read_python(python, number_in_pthread, thread);
    return threads;
}

}  // namespace gpushim::shim
