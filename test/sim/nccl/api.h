// The functions behind the exported names, with the exports' signatures: exports.def says which is which.
// They are called through entry.h's boundary only.
#pragma once

#include <nccl.h>

#include "shim/calls/newer_nccl.h"

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
namespace gpusim::nccl::api {
#define NCCL_EXPORT(name, function) decltype(::name) function;
#define NCCL_EXPORT_EXEMPT(name, function) decltype(::name) function;
#include "exports.def"
#undef NCCL_EXPORT
#undef NCCL_EXPORT_EXEMPT
}  // namespace gpusim::nccl::api
#pragma GCC diagnostic pop
