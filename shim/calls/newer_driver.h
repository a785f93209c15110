// What drivers after CUDA 13.0 export, up to 13.5, and we have rows for: declared here where the header that
// we are built with is older. Types of which only the address is passed on stay without contents. Facts of an
// interface: they are never to change. By way of driver_api.h, which asks cuda.h for every version of a name.
#pragma once

#include <cuda.h>

extern "C" {
#if CUDA_VERSION < 13010
typedef struct CUstreamCigCaptureParams_st CUstreamCigCaptureParams;
CUresult CUDAAPI cuLaunchHostFunc_v2(CUstream, CUhostFn, void* data, unsigned mode);
CUresult CUDAAPI cuLaunchHostFunc_v2_ptsz(CUstream, CUhostFn, void* data, unsigned mode);
CUresult CUDAAPI cuStreamBeginCaptureToCig(CUstream, CUstreamCigCaptureParams*);
CUresult CUDAAPI cuStreamBeginCaptureToCig_ptsz(CUstream, CUstreamCigCaptureParams*);
CUresult CUDAAPI cuStreamEndCaptureToCig(CUstream);
CUresult CUDAAPI cuStreamEndCaptureToCig_ptsz(CUstream);
CUresult CUDAAPI cuMulticastBindMem_v2(CUmemGenericAllocationHandle multicast, CUdevice, size_t offset,
                                       CUmemGenericAllocationHandle memory, size_t memory_offset,
                                       size_t bytes, unsigned long long flags);
CUresult CUDAAPI cuMulticastBindAddr_v2(CUmemGenericAllocationHandle multicast, CUdevice, size_t offset,
                                        CUdeviceptr memory, size_t bytes, unsigned long long flags);
#endif
#if CUDA_VERSION < 13020
CUresult CUDAAPI cuMemcpyWithAttributesAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes,
                                             CUmemcpyAttributes*, CUstream);
CUresult CUDAAPI cuMemcpyWithAttributesAsync_ptsz(CUdeviceptr to, CUdeviceptr from, size_t bytes,
                                                  CUmemcpyAttributes*, CUstream);
CUresult CUDAAPI cuMemcpy3DWithAttributesAsync(CUDA_MEMCPY3D_BATCH_OP*, unsigned long long flags, CUstream);
CUresult CUDAAPI cuMemcpy3DWithAttributesAsync_ptsz(CUDA_MEMCPY3D_BATCH_OP*, unsigned long long flags,
                                                    CUstream);
#endif
#if CUDA_VERSION < 13030
typedef enum CUgraphRecaptureStatus_enum { CU_GRAPH_RECAPTURE_ERROR = 2 } CUgraphRecaptureStatus;
typedef CUresult(CUDA_CB* CUgraphRecaptureCallback)(void* data, CUgraphNode,
                                                    const CUgraphNodeParams* original,
                                                    const CUgraphNodeParams* recaptured,
                                                    CUgraphRecaptureStatus);
CUresult CUDAAPI cuStreamBeginRecaptureToGraph(CUstream, CUstreamCaptureMode, CUgraph,
                                               CUgraphRecaptureCallback, void* data);
CUresult CUDAAPI cuStreamBeginRecaptureToGraph_ptsz(CUstream, CUstreamCaptureMode, CUgraph,
                                                    CUgraphRecaptureCallback, void* data);
#endif
#if CUDA_VERSION < 13040
CUresult CUDAAPI cuGraphAddNode_v3(CUgraphNode* node, CUgraph, const CUgraphNode* dependencies,
                                   const CUgraphEdgeData*, size_t count, CUgraphNodeParams*);
CUresult CUDAAPI cuGraphNodeSetParams_v2(CUgraphNode, CUgraphNodeParams*);
#endif
#if CUDA_VERSION < 13050
typedef struct CUfabricCpyOperand_st {
    unsigned type;  // 1: an address
    union {
        struct {
            CUdeviceptr ptr;
            CUmemLocation locHint;
        } ptr;
        struct {
            unsigned id;
            cuuint64_t offset;
        } le;
    } op;
} CUfabricCpyOperand;
typedef struct CUDA_FABRIC_COPY_BATCH_OP_st {
    CUfabricCpyOperand src;
    CUfabricCpyOperand dst;
    size_t size;
    unsigned flags;
} CUDA_FABRIC_COPY_BATCH_OP;
CUresult CUDAAPI cuFabricCpyBatchAsync(size_t count, CUDA_FABRIC_COPY_BATCH_OP*, unsigned long long flags,
                                       CUstream);
CUresult CUDAAPI cuFabricCpyBatchAsync_ptsz(size_t count, CUDA_FABRIC_COPY_BATCH_OP*,
                                            unsigned long long flags, CUstream);
#endif
}
