// Ranges and marks that the program makes with NVTX. NVTX is headers only: each copy of it in the process
// asks the library that NVTX_INJECTION64_PATH names, at the first use, what its functions are to be. We say
// where ours is (offer_to_nvtx), and hand out functions that record an event (EventKind::span) while
// recording is on, and keep depths and registered texts at any time. Those run on the program's threads: no
// lock, no allocation, whatever they are given.
#pragma once

#include <cstdint>

namespace gpushim::shim {

// At start-up, once, before the program's own code: puts the variable into the environment unless the program
// has one of its own. Says nothing, allocates nothing.
void offer_to_nvtx();

// What an NVTX copy hands to InitializeInjectionNvtx2. False: not understood, and nothing changed.
using GetNvtxTable = const void* (*)(uint32_t);
bool attach_to_nvtx(GetNvtxTable get_table);

}  // namespace gpushim::shim

// 1: its functions are ours from now on.
extern "C" [[gnu::visibility("default")]] int InitializeInjectionNvtx2(gpushim::shim::GetNvtxTable get_table);
