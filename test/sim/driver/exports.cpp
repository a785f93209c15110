// From the rows of exports.def: for each exported name the typed way through it, and the symbol itself, which
// is a jump through a pointer so that no parameter list is ever written down.
#include "entry.h"

namespace gpusim::driver {
namespace {

enum Index : size_t {
#define EXPORT(export, implementation, base, version, per_thread) index_##export,
#include "exports.def"
#undef EXPORT
};

template <class Row, class Signature>
struct Way;

template <class Row, class... A>
struct Way<Row, CUresult(A...)> {
    static CUresult go(A... a) {
        Passage passage(Row::index, __builtin_frame_address(0));
        if (passage.refused()) return passage.leave(passage.result());
        if (passage.calls_itself()) return passage.leave(Row::exported()(a...));
        if (Row::implementation() == nullptr) return passage.leave(CUDA_ERROR_NOT_SUPPORTED);
        return passage.leave(Row::implementation()(a...));
    }
};

#define EXPORT(export, implementation_, base, version, per_thread)                        \
    struct Row_##export {                                                                 \
        static constexpr size_t index = index_##export;                                   \
        static auto* implementation() { return &sim_##implementation_; }                  \
        static auto* exported() { return &::export; } /* through the GOT: interposable */ \
    };
#include "exports.def"
#undef EXPORT

}  // namespace

extern "C" {
#define EXPORT(export, implementation, base, version, per_thread)                 \
    extern void* const gpusim_way_##export __attribute__((visibility("hidden"))); \
    __attribute__((used)) void* const gpusim_way_##export =                       \
        reinterpret_cast<void*>(&Way<Row_##export, decltype(::export)>::go);
#include "exports.def"
#undef EXPORT
}

#if defined(__x86_64__)
#define JUMP(export) "endbr64\n jmp *gpusim_way_" #export "(%rip)\n"
#elif defined(__aarch64__)
#define JUMP(export) \
    "bti c\n adrp x16, gpusim_way_" #export "\n ldr x16, [x16, #:lo12:gpusim_way_" #export "]\n br x16\n"
#endif

// The hidden twin of each name is where the box's own export is, whoever stands before it.
#define EXPORT(export, implementation, base, version, per_thread) \
    asm(".pushsection .text\n .globl " #export "\n .type " #export ", @function\n" \
        " .globl gpusim_own_" #export "\n .hidden gpusim_own_" #export "\n .balign 16\n" #export \
        ":\ngpusim_own_" #export ":\n .cfi_startproc\n" JUMP(export) ".cfi_endproc\n .size " #export \
        ", . - " #export "\n .popsection\n");
#include "exports.def"
#undef EXPORT

extern "C" {
#define EXPORT(export, implementation, base, version, per_thread) \
    extern const char gpusim_own_##export[] __attribute__((visibility("hidden")));
#include "exports.def"
#undef EXPORT
}

const ExportRow export_rows[kExports] = {
#define EXPORT(export, implementation, base, version, per_thread) \
    {#export, #base, version, PerThread::per_thread, gpusim_own_##export},
#include "exports.def"
#undef EXPORT
};

}  // namespace gpusim::driver
