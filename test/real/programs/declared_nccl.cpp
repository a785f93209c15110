// What shim/calls/newer_nccl.h declares, beside what the header of a newer NCCL does, as in
// declared_cuda.cpp.
#include <nccl.h>

#include <cstdint>

#undef NCCL_VERSION_CODE
#define NCCL_VERSION_CODE 22809
namespace ours {
#include "ours.h"
}

#include "same_call.h"

#define SAME(name) static_assert(same_call<decltype(&ours::name), decltype(&::name)>, #name);
#include "functions.inc"

static_assert(sizeof(ours::ncclCommMemStat_t) == sizeof(::ncclCommMemStat_t));
