// A libcuda.so.1 that is only a loader, as on WSL2: it opens the driver under another name and forwards each
// call to what dlsym finds there. One entry it takes from cuGetProcAddress instead, called by its exported
// name, which may be somebody else's by then. Beside the jump an entry counts, so that it shows who went past
// it.
#include <cuda.h>
#include <dlfcn.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>

#include "engine/knobs.h"

#undef cuGetProcAddress
#undef cuMemAlloc

// By its exported name: where somebody stands before us that is his.
extern "C" CUresult cuGetProcAddress(const char* symbol, void** found, int version, cuuint64_t flags);

extern "C" {
#define EXPORT(name, ...)                                                   \
    __attribute__((visibility("hidden"))) void* gpusim_to_##name = nullptr; \
    __attribute__((visibility("hidden"))) std::atomic<uint64_t> gpusim_calls_##name{0};
#include "../exports.def"
#undef EXPORT
}

#if defined(__x86_64__)
#define COUNT_AND_JUMP(name) \
    " endbr64\n lock incq gpusim_calls_" name "(%rip)\n jmp *gpusim_to_" name "(%rip)\n"
#elif defined(__aarch64__)
#define COUNT_AND_JUMP(name)                                                           \
    " hint 34\n adrp x9, gpusim_calls_" name "\n add x9, x9, :lo12:gpusim_calls_" name \
    "\n1: ldxr x10, [x9]\n add x10, x10, 1\n stxr w11, x10, [x9]\n cbnz w11, 1b\n"     \
    " adrp x16, gpusim_to_" name "\n ldr x16, [x16, :lo12:gpusim_to_" name "]\n br x16\n"
#endif
#define EXPORT(name, ...)                                                                         \
    asm(".pushsection .text\n .globl " #name "\n .type " #name ", @function\n .balign 16\n" #name \
        ":\n" COUNT_AND_JUMP(#name) " .size " #name ", . - " #name "\n .popsection\n");
#include "../exports.def"
#undef EXPORT

namespace {

struct Entry {
    const char* name;
    void** to;
    std::atomic<uint64_t>* calls;
};

const Entry entries[] = {
#define EXPORT(name, ...) {#name, &gpusim_to_##name, &gpusim_calls_##name},
#include "../exports.def"
#undef EXPORT
};

CUresult not_found() { return CUDA_ERROR_NOT_FOUND; }

__attribute__((constructor)) void load() {
    void* driver = dlopen("libcuda_behind.so.1", RTLD_NOW | RTLD_LOCAL);
    if (driver == nullptr) {
        std::fprintf(stderr, "box: %s\n", dlerror());
        std::abort();
    }
    for (const Entry& entry : entries) {
        *entry.to = dlsym(driver, entry.name);
        if (*entry.to == nullptr) *entry.to = reinterpret_cast<void*>(&not_found);
    }
    void* found = nullptr;
    if (cuGetProcAddress("cuMemAlloc", &found, 3020, 0) == CUDA_SUCCESS && found != nullptr)
        gpusim_to_cuMemAlloc_v2 = found;
    for (const Entry& entry : entries) entry.calls->store(0);
}

__attribute__((destructor)) void say_what_was_forwarded() {
    const std::string& file = gpusim::knobs().forwarded;
    std::FILE* out = file.empty() ? nullptr : std::fopen(file.c_str(), "we");
    if (out == nullptr) return;
    for (const Entry& entry : entries)
        if (const uint64_t calls = entry.calls->load(); calls != 0)
            std::fprintf(out, "%s %llu\n", entry.name, static_cast<unsigned long long>(calls));
    std::fclose(out);
}

}  // namespace
