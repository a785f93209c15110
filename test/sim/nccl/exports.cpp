// The exported names: pncclX, and ncclX, weak, at the same address. Each is a jump through a hidden pointer
// to the boundary around its function, so that no parameter list is written down twice.
#include "api.h"
#include "entry.h"

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

namespace {

enum Row : size_t {
#define NCCL_EXPORT(name, function) row_##name,
#define NCCL_EXPORT_EXEMPT(name, function) row_##name,
#include "exports.def"
#undef NCCL_EXPORT
#undef NCCL_EXPORT_EXEMPT
};

}  // namespace

#if defined(__x86_64__)
#define NCCL_JUMP(name) "endbr64\n    jmp *behind_" #name "(%rip)\n"
#elif defined(__aarch64__)
#define NCCL_JUMP(name) \
    "bti c\n    adrp x16, behind_" #name "\n    ldr x16, [x16, :lo12:behind_" #name "]\n    br x16\n"
#endif

#define NCCL_EXPORT(name, function)                                                                   \
    extern "C" {                                                                                      \
    [[gnu::used, gnu::visibility("hidden")]] constinit decltype(&::name) behind_##name =              \
        ::gpusim::nccl::Boundary<decltype(::name), row_##name, ::gpusim::nccl::api::function>::call;  \
    }                                                                                                 \
    asm(".pushsection .text\n"                                                                        \
        ".globl p" #name "\n.type p" #name ", %function\n.weak " #name "\n.type " #name               \
        ", %function\n"                                                                               \
        "p" #name ":\n" #name                                                                         \
        ":\n    .cfi_startproc\n    " NCCL_JUMP(name) "    .cfi_endproc\n.size p" #name ", .-p" #name \
                                                      "\n.size " #name ", .-" #name "\n.popsection\n");
#define NCCL_EXPORT_EXEMPT NCCL_EXPORT
#include "exports.def"
