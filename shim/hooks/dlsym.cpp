// The second door: dlsym and dlvsym. Both are tail jumps to whoever stands behind us, so that the caller
// stays the caller (RTLD_NEXT and RTLD_DEFAULT mean something relative to it); only names of the hook tables
// that are asked of a real handle, and NCCL's question for a profiler plug-in, are answered here. Calls no
// function of libc (but for that question): a sanitizer's start-up comes through here while its own hooks
// still point nowhere. Built without sanitizers, whatever the rest is built with.
#include <dlfcn.h>

#include "../base/protection.h"
#include "../calls/elf.h"
#include "../calls/next.h"
#include "../calls/resolve.h"
#include "../program/nccl_plugin.h"
#include "doors.h"

namespace gpushim::shim {
namespace {

// What the assembly below does: return `answer`, or where `go` is not null jump there.
struct Way {
    void* answer;
    void* go;
};

bool is_pseudo(const void* handle) { return handle == RTLD_DEFAULT || handle == RTLD_NEXT; }

// Tools that hook dlsym themselves look for the next one; standing behind such a tool, that is ours. glibc
// would skip it where a version is asked for, because ours has none.
void* door_itself(const char* name, const void* caller) {
    if (name[0] != 'd' || name[1] != 'l') return nullptr;
    void* ours = same_text(name, "dlsym")    ? reinterpret_cast<void*>(&gpushim_dlsym)
                 : same_text(name, "dlvsym") ? reinterpret_cast<void*>(&gpushim_dlvsym)
                                             : nullptr;
    return ours != nullptr && asks_past_nobody_but_us(caller, name) ? ours : nullptr;
}

Way way(void* next, void* handle, const char* name, const char* version, const void* caller) {
    if (name == nullptr) return {nullptr, next};
    if (!kept(Protection::tail_jump) && version == nullptr && is_pseudo(handle))
        return {reinterpret_cast<void* (*)(void*, const char*)>(next)(handle, name), nullptr};
    if (handle != RTLD_DEFAULT)
        if (void* ours = door_itself(name, caller)) return {ours, nullptr};
    if (may_be_nccl_plugin(name) && version == nullptr && !is_pseudo(handle))
        if (void* ours = nccl_plugin_of(handle, name, reinterpret_cast<void* (*)(void*, const char*)>(next)))
            return {ours, nullptr};
    const int api = handle == RTLD_NEXT ? -1 : hooked_name(name);
    if (api < 0) return {nullptr, next};
    // Our export would be found, where without us there is nothing: the program asks what the driver can do.
    if (handle == RTLD_DEFAULT)
        return is_lacking(static_cast<ApiId>(api)) ? Way{nullptr, nullptr} : Way{nullptr, next};
    return {answer_look_up(static_cast<ApiId>(api), handle, name, version, caller), nullptr};
}

}  // namespace

extern "C" {
__attribute__((visibility("hidden"), used)) Way gpushim_dlsym_way(void* handle, const char* name,
                                                                  const void* caller) {
    return way(next_dlsym(), handle, name, nullptr, caller);
}
__attribute__((visibility("hidden"), used)) Way gpushim_dlvsym_way(void* handle, const char* name,
                                                                   const char* version, const void* caller) {
    return way(next_dlvsym(), handle, name, version, caller);
}
}

// Naked, because a compiler makes a tail jump only when it likes to. The stack is as the caller left it when
// the jump is taken.
#if defined(__x86_64__)
#define DOOR(name, save_version, restore, to_caller)                                                    \
    asm(".pushsection .text\n .globl " name "\n .globl gpushim_" name "\n .hidden gpushim_" name        \
        "\n .type " name ", @function\n .balign 16\n" name ":\ngpushim_" name                           \
        ":\n .cfi_startproc\n endbr64\n"                                                                \
        " pushq %rdi\n .cfi_adjust_cfa_offset 8\n pushq %rsi\n .cfi_adjust_cfa_offset 8\n" save_version \
        "\n .cfi_adjust_cfa_offset 8\n movq 24(%rsp), %" to_caller "\n call gpushim_" name              \
        "_way\n"                                                                                        \
        " movq %rdx, %r11\n" restore                                                                    \
        "\n .cfi_adjust_cfa_offset -8\n popq %rsi\n .cfi_adjust_cfa_offset -8\n popq %rdi\n"            \
        " .cfi_adjust_cfa_offset -8\n testq %r11, %r11\n je 1f\n jmp *%r11\n1: ret\n .cfi_endproc\n "   \
        ".size " name ", . - " name "\n .popsection\n");
DOOR("dlsym", "subq $8, %rsp", "addq $8, %rsp", "rdx")
DOOR("dlvsym", "pushq %rdx", "popq %rdx", "rcx")
#elif defined(__aarch64__)
#define DOOR(name, to_caller)                                                                                \
    asm(".pushsection .text\n .globl " name "\n .globl gpushim_" name "\n .hidden gpushim_" name             \
        "\n .type " name ", @function\n .balign 16\n" name ":\ngpushim_" name                                \
        ":\n .cfi_startproc\n hint 34\n stp x29, x30, [sp, -48]!\n .cfi_adjust_cfa_offset 48\n"              \
        " .cfi_offset x29, -48\n .cfi_offset x30, -40\n stp x0, x1, [sp, 16]\n str x2, [sp, 32]\n"           \
        " mov " to_caller ", x30\n bl gpushim_" name                                                         \
        "_way\n mov x16, x1\n mov x17, x0\n"                                                                 \
        " ldp x0, x1, [sp, 16]\n ldr x2, [sp, 32]\n ldp x29, x30, [sp], 48\n .cfi_adjust_cfa_offset -48\n"   \
        " .cfi_restore x29\n .cfi_restore x30\n cbz x16, 1f\n br x16\n1: mov x0, x17\n ret\n .cfi_endproc\n" \
        " .size " name ", . - " name "\n .popsection\n");
DOOR("dlsym", "x2")
DOOR("dlvsym", "x3")
#endif

}  // namespace gpushim::shim
