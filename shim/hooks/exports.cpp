// From the rows of the tables: for each name its thunk, and the exported symbol itself, which is a jump
// through a pointer so that no parameter list is ever written down. The symbol has a hidden twin: the one
// address that all doors hand out, because the public name may be bound to a tool that stands before us. (Not
// GNU ifunc: where a library is relocated before the preload, glibc complains on the program's stderr.)
#include "../calls/resolve.h"
#include "cublas_words.h"
#include "cuda_words.h"
#include "doors.h"
#include "nccl_words.h"
#include "thunk.h"

namespace gpushim::shim {

namespace {

// cuGetProcAddress, both forms: the caller's arguments go on untouched, and what comes back is looked at.
template <class Row, class Signature>
struct LookupThunk;

template <class Row, class... Status>
struct LookupThunk<Row, CUresult(const char*, void**, int, cuuint64_t, Status...)> {
    static CUresult call(const char* symbol, void** address, int version, cuuint64_t flags,
                         Status... status) {
        using Real = CUresult (*)(const char*, void**, int, cuuint64_t, Status...);
        const auto real = reinterpret_cast<Real>(Row::real());
        if (real == nullptr) return absent<CUresult>();
        count_hit(Row::id);
        const CUresult result = real(symbol, address, version, flags, status...);
        if (result == CUDA_SUCCESS && address != nullptr)
            *address = swapped_proc_address(symbol, *address, version, flags, __builtin_return_address(0));
        return result;
    }
};

template <class Row, class Signature>
using ThunkOf =
    std::conditional_t<has<Row>(traits::lookup), LookupThunk<Row, Signature>, Thunk<Row, Signature>>;

using namespace words;
using namespace traits;

#define HOOK(export, version, kind_, traits_, ...)                         \
    struct Row_##export {                                                  \
        static constexpr ApiId id = api_##export;                          \
        static constexpr EventKind kind = EventKind::kind_;                \
        static constexpr uint32_t traits = static_cast<uint32_t>(traits_); \
        using Words = words::Words<__VA_ARGS__>;                           \
        static void* real() { return original(id); }                       \
    };
#include "../calls/all.def"

}  // namespace

extern "C" {
#define HOOK(export, ...)                                                         \
    extern void* const gpushim_to_##export __attribute__((visibility("hidden"))); \
    __attribute__((used)) void* const gpushim_to_##export =                       \
        reinterpret_cast<void*>(&ThunkOf<Row_##export, decltype(::export)>::call);
#include "../calls/all.def"
}

#if defined(__x86_64__)
#define JUMP(export) "endbr64\n jmp *gpushim_to_" #export "(%rip)\n"
#elif defined(__aarch64__)
#define JUMP(export) \
    "bti c\n adrp x16, gpushim_to_" #export "\n ldr x16, [x16, #:lo12:gpushim_to_" #export "]\n br x16\n"
#endif

#define ENTRY(export) \
    asm(".pushsection .text\n .globl " #export "\n .globl gpushim_entry_" #export                       \
        "\n .hidden gpushim_entry_" #export "\n .type " #export ", @function\n .balign 16\n" #export    \
        ":\ngpushim_entry_" #export ":\n .cfi_startproc\n" JUMP(export) ".cfi_endproc\n .size " #export \
        ", . - " #export "\n .popsection\n");
#define HOOK(export, ...) ENTRY(export)
#include "../calls/all.def"

extern "C" {
#define HOOK(export, ...) extern const char gpushim_entry_##export[] __attribute__((visibility("hidden")));
#include "../calls/all.def"
}

namespace {
const char* const entries[kApis] = {
#define HOOK(export, ...) gpushim_entry_##export,
#include "../calls/all.def"
};
}  // namespace

void* entry_of(ApiId api) { return const_cast<char*>(entries[api]); }

}  // namespace gpushim::shim
