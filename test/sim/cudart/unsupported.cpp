// Functions of the runtime that the box has no use for: arrays, textures, surfaces, external memory, graphics
// and a few rare ones. Each exists, so that a program that names one loads, and answers
// cudaErrorNotSupported.
#include "cudart/boundary.h"

namespace cudart {
namespace {

template <class Signature>
struct Unsupported;

template <class... Arguments>
struct Unsupported<cudaError_t(Arguments...)> {
    static cudaError_t call(Arguments...) { return cudaErrorNotSupported; }
};

// Of all that deals with arrays, this alone needs none.
cudaChannelFormatDesc channel_desc(int x, int y, int z, int w, cudaChannelFormatKind kind) {
    return {x, y, z, w, kind};
}

}  // namespace
}  // namespace cudart

#define UNSUPPORTED(name) EXPORT_RUNTIME(name, nothing, ::cudart::Unsupported<decltype(::name)>::call)

CUDART_NAME(cudaCreateChannelDesc, cudart::channel_desc)
UNSUPPORTED(cudaArrayGetInfo)
UNSUPPORTED(cudaArrayGetMemoryRequirements)
UNSUPPORTED(cudaArrayGetPlane)
UNSUPPORTED(cudaArrayGetSparseProperties)
UNSUPPORTED(cudaCreateSurfaceObject)
UNSUPPORTED(cudaCreateTextureObject)
UNSUPPORTED(cudaDestroyExternalMemory)
UNSUPPORTED(cudaDestroyExternalSemaphore)
UNSUPPORTED(cudaDestroySurfaceObject)
UNSUPPORTED(cudaDestroyTextureObject)
UNSUPPORTED(cudaDeviceGetNvSciSyncAttributes)
UNSUPPORTED(cudaDeviceGetTexture1DLinearMaxWidth)
UNSUPPORTED(cudaDeviceRegisterAsyncNotification)
UNSUPPORTED(cudaDeviceUnregisterAsyncNotification)
UNSUPPORTED(cudaExternalMemoryGetMappedBuffer)
UNSUPPORTED(cudaExternalMemoryGetMappedMipmappedArray)
UNSUPPORTED(cudaFreeArray)
UNSUPPORTED(cudaFreeMipmappedArray)
UNSUPPORTED(cudaGetChannelDesc)
UNSUPPORTED(cudaGetMipmappedArrayLevel)
UNSUPPORTED(cudaGetSurfaceObjectResourceDesc)
UNSUPPORTED(cudaGetTextureObjectResourceDesc)
UNSUPPORTED(cudaGetTextureObjectResourceViewDesc)
UNSUPPORTED(cudaGetTextureObjectTextureDesc)
UNSUPPORTED(cudaGraphAddExternalSemaphoresSignalNode)
UNSUPPORTED(cudaGraphAddExternalSemaphoresWaitNode)
UNSUPPORTED(cudaGraphConditionalHandleCreate)
UNSUPPORTED(cudaGraphExecExternalSemaphoresSignalNodeSetParams)
UNSUPPORTED(cudaGraphExecExternalSemaphoresWaitNodeSetParams)
UNSUPPORTED(cudaGraphExecMemcpyNodeSetParamsFromSymbol)
UNSUPPORTED(cudaGraphExecMemcpyNodeSetParamsToSymbol)
UNSUPPORTED(cudaGraphExternalSemaphoresSignalNodeGetParams)
UNSUPPORTED(cudaGraphExternalSemaphoresSignalNodeSetParams)
UNSUPPORTED(cudaGraphExternalSemaphoresWaitNodeGetParams)
UNSUPPORTED(cudaGraphExternalSemaphoresWaitNodeSetParams)
UNSUPPORTED(cudaGraphMemcpyNodeSetParamsFromSymbol)
UNSUPPORTED(cudaGraphMemcpyNodeSetParamsToSymbol)
UNSUPPORTED(cudaGraphicsMapResources)
UNSUPPORTED(cudaGraphicsResourceGetMappedMipmappedArray)
UNSUPPORTED(cudaGraphicsResourceGetMappedPointer)
UNSUPPORTED(cudaGraphicsResourceSetMapFlags)
UNSUPPORTED(cudaGraphicsSubResourceGetMappedArray)
UNSUPPORTED(cudaGraphicsUnmapResources)
UNSUPPORTED(cudaGraphicsUnregisterResource)
UNSUPPORTED(cudaImportExternalMemory)
UNSUPPORTED(cudaImportExternalSemaphore)
UNSUPPORTED(cudaMalloc3DArray)
UNSUPPORTED(cudaMallocArray)
UNSUPPORTED(cudaMallocMipmappedArray)
UNSUPPORTED(cudaMemcpy2DArrayToArray)
UNSUPPORTED(cudaMemcpy2DArrayToArray_ptds)
UNSUPPORTED(cudaMemcpy2DFromArray)
UNSUPPORTED(cudaMemcpy2DFromArrayAsync)
UNSUPPORTED(cudaMemcpy2DFromArrayAsync_ptsz)
UNSUPPORTED(cudaMemcpy2DFromArray_ptds)
UNSUPPORTED(cudaMemcpy2DToArray)
UNSUPPORTED(cudaMemcpy2DToArrayAsync)
UNSUPPORTED(cudaMemcpy2DToArrayAsync_ptsz)
UNSUPPORTED(cudaMemcpy2DToArray_ptds)
UNSUPPORTED(cudaMemcpy3DBatchAsync)
UNSUPPORTED(cudaMemcpy3DBatchAsync_ptsz)
UNSUPPORTED(cudaMemcpy3DPeer)
UNSUPPORTED(cudaMemcpy3DPeerAsync)
UNSUPPORTED(cudaMemcpy3DPeerAsync_ptsz)
UNSUPPORTED(cudaMemcpy3DPeer_ptds)
UNSUPPORTED(cudaMemcpyArrayToArray)
UNSUPPORTED(cudaMemcpyArrayToArray_ptds)
UNSUPPORTED(cudaMemcpyFromArray)
UNSUPPORTED(cudaMemcpyFromArrayAsync)
UNSUPPORTED(cudaMemcpyFromArrayAsync_ptsz)
UNSUPPORTED(cudaMemcpyFromArray_ptds)
UNSUPPORTED(cudaMemcpyToArray)
UNSUPPORTED(cudaMemcpyToArrayAsync)
UNSUPPORTED(cudaMemcpyToArrayAsync_ptsz)
UNSUPPORTED(cudaMemcpyToArray_ptds)
UNSUPPORTED(cudaMipmappedArrayGetMemoryRequirements)
UNSUPPORTED(cudaMipmappedArrayGetSparseProperties)
UNSUPPORTED(cudaSignalExternalSemaphoresAsync)
UNSUPPORTED(cudaSignalExternalSemaphoresAsync_ptsz)
UNSUPPORTED(cudaWaitExternalSemaphoresAsync)
UNSUPPORTED(cudaWaitExternalSemaphoresAsync_ptsz)
