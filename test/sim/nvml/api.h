// NVML's header, and the names under which the box implements it: what a program calls nvmlX is implemented,
// where it is, as sim_nvmlX with the same signature; entry.cpp leads from one to the other. All of it may be
// called from any thread.
#pragma once

#define NVML_NO_UNVERSIONED_FUNC_DEFS  // every version is a function of its own
#include <nvml.h>

#define EXPORT(name) extern "C" decltype(::name) sim_##name;
#include "exports.def"
#undef EXPORT

// IMPLEMENT(nvmlDeviceGetIndex)(nvmlDevice_t device, unsigned* index) { … }
#define IMPLEMENT(name) extern "C" nvmlReturn_t sim_##name
