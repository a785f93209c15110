#include "cudart/boundary.h"

namespace cudart {
namespace {

cudaError_t create_stream(cudaStream_t* stream) { return DRIVER(cuStreamCreate)(stream, CU_STREAM_DEFAULT); }

cudaError_t create_event(cudaEvent_t* event) { return DRIVER(cuEventCreate)(event, CU_EVENT_DEFAULT); }

}  // namespace
}  // namespace cudart

using namespace cudart;

EXPORT_RUNTIME(cudaStreamCreate, context, create_stream)
FORWARD(cudaStreamCreateWithFlags, cuStreamCreate)
FORWARD(cudaStreamCreateWithPriority, cuStreamCreateWithPriority)
FORWARD(cudaStreamDestroy, cuStreamDestroy_v2)
FORWARD_STREAM(cudaStreamSynchronize, cuStreamSynchronize)
FORWARD_STREAM(cudaStreamQuery, cuStreamQuery)
FORWARD_STREAM(cudaStreamWaitEvent, cuStreamWaitEvent)
FORWARD_STREAM(cudaStreamGetFlags, cuStreamGetFlags)
FORWARD_STREAM(cudaStreamGetPriority, cuStreamGetPriority)
FORWARD_STREAM(cudaStreamGetId, cuStreamGetId)
FORWARD_STREAM(cudaStreamGetDevice, cuStreamGetDevice)
FORWARD_STREAM(cudaStreamCopyAttributes, cuStreamCopyAttributes)
FORWARD_STREAM(cudaStreamGetAttribute, cuStreamGetAttribute)
FORWARD_STREAM(cudaStreamSetAttribute, cuStreamSetAttribute)
FORWARD_STREAM(cudaStreamAddCallback, cuStreamAddCallback)
FORWARD_STREAM(cudaStreamAttachMemAsync, cuStreamAttachMemAsync)
FORWARD_STREAM(cudaLaunchHostFunc, cuLaunchHostFunc)

EXPORT_RUNTIME(cudaEventCreate, context, create_event)
FORWARD(cudaEventCreateWithFlags, cuEventCreate)
FORWARD_STREAM(cudaEventRecord, cuEventRecord)
FORWARD_STREAM(cudaEventRecordWithFlags, cuEventRecordWithFlags)
FORWARD(cudaEventQuery, cuEventQuery)
FORWARD(cudaEventSynchronize, cuEventSynchronize)
FORWARD(cudaEventDestroy, cuEventDestroy_v2)
FORWARD(cudaEventElapsedTime, cuEventElapsedTime_v2)
FORWARD(cudaIpcGetEventHandle, cuIpcGetEventHandle)
FORWARD(cudaIpcOpenEventHandle, cuIpcOpenEventHandle)

FORWARD_STREAM(cudaStreamBeginCapture, cuStreamBeginCapture_v2)
FORWARD_STREAM(cudaStreamBeginCaptureToGraph, cuStreamBeginCaptureToGraph)
FORWARD_STREAM(cudaStreamEndCapture, cuStreamEndCapture)
FORWARD_STREAM(cudaStreamIsCapturing, cuStreamIsCapturing)
FORWARD_STREAM(cudaStreamGetCaptureInfo, cuStreamGetCaptureInfo_v3)
FORWARD_STREAM(cudaStreamUpdateCaptureDependencies, cuStreamUpdateCaptureDependencies_v2)
FORWARD(cudaThreadExchangeStreamCaptureMode, cuThreadExchangeStreamCaptureMode)
