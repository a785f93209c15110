#include "function_names.h"

#include <atomic>
#include <cstring>

#include "../base/system.h"
#include "../calls/driver_api.h"
#include "../calls/questions.h"
#include "../calls/resolve.h"
#include "../calls/unanswered.h"
#include "../ring/recorder.h"

namespace gpushim::shim {
namespace {

constexpr size_t kWishes = 64;
constexpr size_t kLongestName = 8192;
constexpr size_t kToldNames = 1 << 13;
constexpr size_t kMostTries = 64;

constinit std::atomic<uint64_t> wishes[kWishes] = {};
// A function and, above it, how often code had been unloaded when it was told; 0: nobody.
constinit std::atomic<uint64_t> told_names[kToldNames] = {};
constinit std::atomic<uint64_t> unloads = 0;
constexpr int kUnloadsShift = 48;
constexpr uint64_t kUnloadsTold = uint64_t{1} << (64 - kUnloadsShift);

// Relaxed, all of it: who finds a function here has not been told anything else.
std::atomic<uint64_t>& place_of(uint64_t function, size_t i) {
    return told_names[((function * 0x9e3779b97f4a7c15 >> 32) + i) & (kToldNames - 1)];
}

bool has_place(uint64_t function) { return function != 0 && function >> kUnloadsShift == 0; }
// As it stands in its place if it is told now; of what stands there: 0 above the function if it still holds.
uint64_t with_unloads(uint64_t told) {
    return told ^ unloads.load(std::memory_order_relaxed) << kUnloadsShift;
}

void empty_told_names() {
    for (auto& told : told_names) told.store(0, std::memory_order_relaxed);
}

bool take_wish(uint64_t function) {
    for (auto& wish : wishes) {
        uint64_t wanted = function;
        // Relaxed: who takes it asks the driver; nothing else hangs on it.
        if (wish.load(std::memory_order_relaxed) != function) continue;
        if (!wish.compare_exchange_strong(wanted, 0, std::memory_order_relaxed)) continue;
        process_state->wanted.fetch_sub(1, std::memory_order_relaxed);
        return true;
    }
    return false;
}

using GetName = CUresult (*)(const char** name, void* handle);

const char* ask(Question question, const char* getter, uint64_t function) {
    const auto get_name = reinterpret_cast<GetName>(driver_function(getter));
    const char* name = nullptr;
    return answers(question, get_name, &name, reinterpret_cast<void*>(function)) ? name : nullptr;
}

// Older drivers take whatever they are given for what they were asked about: of a kernel's handle asked as a
// function's they say that its name is somewhere, and whoever reads there crashes.
bool are_handles_checked() {
    constexpr int kChecked = 13000;
    return driver_version() >= kChecked;
}

void record_name(ThreadState& thread, uint64_t function, const char* name) {
    const size_t length = strnlen(name, kLongestName);
    if (!has_room(thread, 1 + (length + kTextBytes - 1) / kTextBytes)) return;
    Slot* slot = open_slot(thread, kNoApi, EventKind::named, 0);
    if (slot == nullptr) return;
    put_words(*slot, event::named{function, 0, length});
    slot->exit = slot->enter;
    append_text(thread, name, length);
    complete_slot(slot);
    name_is_told(function);
}

}  // namespace

void answer_name(ThreadState& thread, uint64_t function) {
    if (function == 0 || !take_wish(function)) return;
    const KeepErrno keep;
    tell_name(thread, function, FunctionHandle::any);
}

void tell_name(ThreadState& thread, uint64_t function, FunctionHandle kind) {
    if (kind == FunctionHandle::any && !are_handles_checked()) return;
    const char* name =
        kind == FunctionHandle::kernel ? nullptr : ask(Question::cuFuncGetName, "cuFuncGetName", function);
    if (name == nullptr && kind != FunctionHandle::function)
        name = ask(Question::cuKernelGetName, "cuKernelGetName", function);
    if (name != nullptr)
        record_name(thread, function, name);
    else
        name_is_told(function);  // there is none: who asks again gets none
}

bool is_name_told(uint64_t function) {
    const uint64_t wanted = with_unloads(function);
    for (size_t i = 0; has_place(function) && i < kMostTries; ++i) {
        const uint64_t there = place_of(function, i).load(std::memory_order_relaxed);
        if (there == wanted || there == 0) return there != 0;
    }
    return false;
}

// In the first place that is empty or was told before code was unloaded, or else in that of another.
void name_is_told(uint64_t function) {
    if (!has_place(function) || is_name_told(function)) return;
    const uint64_t told = with_unloads(function);
    for (size_t i = 0; i < kMostTries; ++i) {
        uint64_t there = place_of(function, i).load(std::memory_order_relaxed);
        const bool is_free = there == 0 || with_unloads(there) >> kUnloadsShift != 0;
        if (is_free && place_of(function, i).compare_exchange_strong(there, told, std::memory_order_relaxed))
            return;
    }
    place_of(function, 0).store(told, std::memory_order_relaxed);
}

void function_is_new(uint64_t function) {
    const uint64_t told = with_unloads(function);
    for (size_t i = 0; i < kMostTries; ++i) {
        uint64_t there = place_of(function, i).load(std::memory_order_relaxed);
        if (there == told) place_of(function, i).compare_exchange_strong(there, 0, std::memory_order_relaxed);
    }
}

void functions_may_be_gone() {
    const uint64_t count = unloads.fetch_add(1, std::memory_order_relaxed) + 1;
    // Long before the same count comes again, nothing is left that was told under it.
    if (count % (kUnloadsTold / 2) == 0) empty_told_names();
}

bool wish_for_name(uint64_t function) {
    for (auto& wish : wishes)
        if (wish.load(std::memory_order_relaxed) == function) return true;
    for (auto& wish : wishes) {
        uint64_t none = 0;
        if (!wish.compare_exchange_strong(none, function, std::memory_order_relaxed)) continue;
        process_state->wanted.fetch_add(1, std::memory_order_relaxed);
        return true;
    }
    return false;
}

void forget_wishes() {
    functions_may_be_gone();
    for (auto& wish : wishes) wish.store(0, std::memory_order_relaxed);
}

}  // namespace gpushim::shim
