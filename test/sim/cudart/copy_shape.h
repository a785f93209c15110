// Copies of more than one row as the driver describes them, from the runtime's descriptions, and back.
// Arrays are not in the box, so a description that names one is cudaErrorNotSupported.
#pragma once

#include "cudart/cuda_api.h"

namespace cudart {

bool is_copy_kind(cudaMemcpyKind kind);
CUmemorytype source_memory(cudaMemcpyKind kind);
CUmemorytype target_memory(cudaMemcpyKind kind);

cudaError_t describe_2d(void* target, std::size_t target_pitch, const void* source, std::size_t source_pitch,
                        std::size_t width, std::size_t height, cudaMemcpyKind kind, CUDA_MEMCPY2D& shape);
cudaError_t describe_3d(const cudaMemcpy3DParms& runtime, CUDA_MEMCPY3D& shape);
cudaMemcpy3DParms runtime_3d(const CUDA_MEMCPY3D& shape);

// A plain run of bytes as a three-dimensional copy of one row.
cudaMemcpy3DParms one_row(void* target, const void* source, std::size_t size_bytes, cudaMemcpyKind kind);

}  // namespace cudart
