// What NCCL after 2.28 exports, up to 2.32, and we have rows for: as newer_driver.h.
#pragma once

#include <nccl.h>

#include <cstdint>

extern "C" {
#if NCCL_VERSION_CODE < NCCL_VERSION(2, 29, 0)
typedef struct ncclWaitSignalDesc ncclWaitSignalDesc_t;
typedef enum { gpushimCommMemStat } ncclCommMemStat_t;
ncclResult_t ncclCommGetUniqueId(ncclComm_t, ncclUniqueId*);
ncclResult_t ncclCommGrow(ncclComm_t, int ranks, const ncclUniqueId*, int rank, ncclComm_t* grown,
                          ncclConfig_t*);
ncclResult_t ncclCommSuspend(ncclComm_t, int flags);
ncclResult_t ncclCommResume(ncclComm_t);
ncclResult_t ncclCommMemStats(ncclComm_t, ncclCommMemStat_t, uint64_t* value);
ncclResult_t ncclPutSignal(const void* from, size_t count, ncclDataType_t, int peer, ncclWindow_t,
                           size_t offset, int signal, int context, unsigned flags, ncclComm_t, cudaStream_t);
ncclResult_t ncclSignal(int peer, int signal, int context, unsigned flags, ncclComm_t, cudaStream_t);
ncclResult_t ncclWaitSignal(int count, ncclWaitSignalDesc_t*, ncclComm_t, cudaStream_t);
#endif
#if NCCL_VERSION_CODE < NCCL_VERSION(2, 31, 0)
typedef struct ncclCollConfig ncclCollConfig_t;
ncclResult_t ncclAllReduceConfig(const void* from, void* to, size_t count, ncclDataType_t, ncclRedOp_t,
                                 ncclComm_t, cudaStream_t, const ncclCollConfig_t*);
ncclResult_t ncclBroadcastConfig(const void* from, void* to, size_t count, ncclDataType_t, int root,
                                 ncclComm_t, cudaStream_t, const ncclCollConfig_t*);
ncclResult_t ncclReduceConfig(const void* from, void* to, size_t count, ncclDataType_t, ncclRedOp_t, int root,
                              ncclComm_t, cudaStream_t, const ncclCollConfig_t*);
ncclResult_t ncclAllGatherConfig(const void* from, void* to, size_t count, ncclDataType_t, ncclComm_t,
                                 cudaStream_t, const ncclCollConfig_t*);
ncclResult_t ncclReduceScatterConfig(const void* from, void* to, size_t count, ncclDataType_t, ncclRedOp_t,
                                     ncclComm_t, cudaStream_t, const ncclCollConfig_t*);
ncclResult_t ncclAlltoAllConfig(const void* from, void* to, size_t count, ncclDataType_t, ncclComm_t,
                                cudaStream_t, const ncclCollConfig_t*);
ncclResult_t ncclGatherConfig(const void* from, void* to, size_t count, ncclDataType_t, int root, ncclComm_t,
                              cudaStream_t, const ncclCollConfig_t*);
ncclResult_t ncclScatterConfig(const void* from, void* to, size_t count, ncclDataType_t, int root, ncclComm_t,
                               cudaStream_t, const ncclCollConfig_t*);
#endif
}
