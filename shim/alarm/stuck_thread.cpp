#include "stuck_thread.h"

#include <stdio.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <memory>

#include "../calls/api.h"
#include "../machine/proc_thread.h"
#include "../python/stack.h"
#include "../ring/quiet.h"
#include "../sqlite/rows.h"

namespace gpushim::shim {
namespace {

constexpr int kTries = 3;

std::string_view without_newline(std::string_view text) {
    return text.ends_with('\n') ? text.substr(0, text.size() - 1) : text;
}

std::string native_place(uint64_t address) {
    const std::unique_ptr<FILE, int (*)(FILE*)> maps(fopen("/proc/self/maps", "re"), fclose);
    char line[4096];
    while (maps != nullptr && fgets(line, sizeof line, maps.get()) != nullptr)
        if (std::string place = place_in(without_newline(line), address); !place.empty()) return place;
    return {};
}

void read_kernel(StuckThread& thread) {
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
    if (const uint64_t place = parse_place(syscall); place != 0) thread.native = native_place(place);
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

// "202 0x7f31c8a2b4f8 … SP PC": the last word.
uint64_t parse_place(std::string_view syscall) {
    syscall = without_newline(syscall);
    const size_t at = syscall.rfind(" 0x");
    if (at == std::string_view::npos) return 0;
    uint64_t place = 0;
    std::from_chars(syscall.data() + at + 3, syscall.data() + syscall.size(), place, 16);
    return place;
}

// "7f31c8a00000-7f31c8b00000 r-xp 00026000 fe:01 1234    /lib/libc.so.6"
std::string place_in(std::string_view line, uint64_t address) {
    uint64_t from = 0, until = 0, offset = 0;
    int name_at = 0;
    const std::string text(line);
    if (sscanf(text.c_str(), "%lx-%lx %*s %lx %*s %*s %n", &from, &until, &offset, &name_at) != 3) return {};
    if (address < from || address >= until) return {};
    const std::string name = text.substr(static_cast<size_t>(name_at));
    char place[32];
    snprintf(place, sizeof place, "+0x%lx", address - from + offset);
    return (name.empty() ? "(no file)" : name.substr(name.rfind('/') + 1)) + place;
}

int64_t cpu_ns_of_thread(int32_t tid) {
    char text[1024];
    return parse_cpu_ns(read_of_thread(tid, "schedstat", text));
}

std::vector<StuckThread> look_at_stuck(const std::vector<WaitingCall>& calls, bool wants_python) {
    std::vector<StuckThread> threads = threads_of(calls);
    for (StuckThread& thread : threads) read_kernel(thread);
    std::erase_if(threads, [](const StuckThread& thread) { return thread.is_gone(); });
    const Python python = wants_python ? find_python() : Python{};
    if (python.runtime == 0 || python.why_not[0] != '\0') return threads;
    const uint32_t number_in_pthread = find_number_in_pthread();
    for (StuckThread& thread : threads) read_python(python, number_in_pthread, thread);
    return threads;
}

}  // namespace gpushim::shim
