// Where calls go on: the original of each row, which is whoever stands behind us. Resolving takes the dynamic
// linker's lock and happens once per row; any thread.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "api.h"

namespace gpushim::shim {

extern constinit std::atomic<void*> originals[kApis];

// Finds and remembers the original. Null: its library is not loaded, or has no such function; asked again
// next time.
void* find_original(ApiId api);

inline void* original(ApiId api) {
    // Acquire: of what the tool that stands behind us set up before it gave its address away.
    void* known = originals[api].load(std::memory_order_acquire);
    return known != nullptr ? known : find_original(api);
}

// How the names of a library's files begin, and where it is; 0: not seen yet.
const char* soname_of(ApiLibrary library);
uintptr_t base_of(ApiLibrary library);

// What the library itself exports for the row, if it is loaded: the identity of an address.
void* library_export(ApiId api);

// A function of the driver that is not hooked, or that is to be called past every hook. Null: not there.
void* driver_function(const char* name);
void* nccl_function(const char* name);
void* cublas_lt_function(const char* name);
bool driver_is_there();
bool nccl_is_there();

// Without us there would be nothing of that name: the driver is there and does not have that function, nor
// has anybody else who stands behind us; or cuBLAS is not there.
bool is_lacking(ApiId api);

// The address of a row's own entry (exports.cpp).
void* entry_of(ApiId api);

// libc's own dlsym, past every tool that hooks it.
using Dlsym = void* (*)(void* handle, const char* name);
Dlsym dlsym_of_libc();

// Objects by an address in them: whether it is ours, or of a library whose calls we record; whether two
// addresses are in one object.
bool is_ours(const void* address);
bool is_in_library(const void* address);
// The driver, and what stands behind one that is only a loader (WSL2's opens the driver proper under another
// name and asks for its entries by dlsym). What it looks up for itself it gets, or calls would go past it.
bool is_in_driver(const void* address);
void driver_has_found(const void* address);  // there is more of it
bool in_one_object(const void* a, const void* b);
bool is_behind_us(const void* address);  // in the linker's order

// Somebody else's copy of this library came first: it records, we pass everything on.
bool second_copy();

// At the front since the start, and no copy of us before: one that was opened later sees no call of CUDA's.
bool is_preloaded();

}  // namespace gpushim::shim
