// What shim/calls/newer_driver.h declares, beside what the header of a newer CUDA does: the compiler compares
// them. ours.h and functions.inc are made by rows_alone.py.
#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>

// Our header declares what an older one lacks.
#undef CUDA_VERSION
#define CUDA_VERSION 13000
namespace ours {
#include "ours.h"
}

#include "same_call.h"

#define SAME(name) static_assert(same_call<decltype(&ours::name), decltype(&::name)>, #name);
#include "functions.inc"

static_assert(ours::CU_GRAPH_RECAPTURE_ERROR == ::CU_GRAPH_RECAPTURE_ERROR);
static_assert(sizeof(ours::CUgraphRecaptureStatus_enum) == sizeof(::CUgraphRecaptureStatus));
static_assert(same_call<ours::CUgraphRecaptureCallback, ::CUgraphRecaptureCallback>);

#define SAME_PLACE(type, member) static_assert(offsetof(ours::type, member) == offsetof(::type, member))
static_assert(sizeof(ours::CUfabricCpyOperand_st) == sizeof(::CUfabricCpyOperand));
SAME_PLACE(CUfabricCpyOperand, type);
SAME_PLACE(CUfabricCpyOperand, op.ptr.ptr);
SAME_PLACE(CUfabricCpyOperand, op.ptr.locHint);
SAME_PLACE(CUfabricCpyOperand, op.le.id);
SAME_PLACE(CUfabricCpyOperand, op.le.offset);
static_assert(sizeof(ours::CUDA_FABRIC_COPY_BATCH_OP_st) == sizeof(::CUDA_FABRIC_COPY_BATCH_OP));
SAME_PLACE(CUDA_FABRIC_COPY_BATCH_OP, src);
SAME_PLACE(CUDA_FABRIC_COPY_BATCH_OP, dst);
SAME_PLACE(CUDA_FABRIC_COPY_BATCH_OP, size);
SAME_PLACE(CUDA_FABRIC_COPY_BATCH_OP, flags);
