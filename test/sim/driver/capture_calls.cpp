// The calls of the API that begin, end and look into captures.
#include "capture.h"
#include "entry.h"

namespace gpusim::driver {
namespace {

bool is_mode(CUstreamCaptureMode mode) {
    return mode == CU_STREAM_CAPTURE_MODE_GLOBAL || mode == CU_STREAM_CAPTURE_MODE_THREAD_LOCAL ||
           mode == CU_STREAM_CAPTURE_MODE_RELAXED;
}

CUresult begin(CUstream handle, CUstreamCaptureMode mode, std::shared_ptr<Graph> graph,
               const std::vector<Edge>& edges) {
    if (!is_mode(mode)) return CUDA_ERROR_INVALID_VALUE;
    Stream* stream = find_stream(handle);
    if (stream == nullptr) return stream_error();
    if (stream->is_legacy) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    if (stream->capture != nullptr) return CUDA_ERROR_ILLEGAL_STATE;
    stream->capture = std::make_shared<Capture>(*stream, mode, std::move(graph));
    for (const Edge& edge : edges) stream->capture->front(*stream).add(edge.from, edge.data);
    return CUDA_SUCCESS;
}

// Why the capture has no graph to give.
CUresult outcome_of(const Capture& capture) {
    if (!capture.valid()) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    return capture.joined() ? CUDA_SUCCESS : CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
}

CUresult end(Stream& stream, CUgraph* graph) {
    const auto capture = stream.capture;
    if (capture == nullptr) return CUDA_ERROR_ILLEGAL_STATE;
    if (!capture->began_in(stream)) return CUDA_ERROR_STREAM_CAPTURE_UNMATCHED;
    if (capture->mode() != CU_STREAM_CAPTURE_MODE_RELAXED && !capture->began_here())
        return CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
    const CUresult outcome = outcome_of(*capture);
    const auto recorded = capture->end();
    if (outcome != CUDA_SUCCESS) return outcome;
    // Nobody else has it: it is not one that the program gave to record into.
    if (recorded.use_count() == 1) recorded->handle = recorded;
    *graph = handle_of(recorded.get());
    return CUDA_SUCCESS;
}

// A stream as a query sees it: unlike any use of it, this does not disturb the captures that forbid it.
CUresult look(CUstream handle, Stream*& stream) {
    stream = find_stream(handle);
    if (stream == nullptr) return stream_error();
    return stream->is_legacy && capture::makes_legacy_unusable(*stream->context)
               ? CUDA_ERROR_STREAM_CAPTURE_IMPLICIT
               : CUDA_SUCCESS;
}

CUstreamCaptureStatus status_of(const Stream& stream) {
    if (stream.capture == nullptr) return CU_STREAM_CAPTURE_STATUS_NONE;
    return stream.capture->valid() ? CU_STREAM_CAPTURE_STATUS_ACTIVE : CU_STREAM_CAPTURE_STATUS_INVALIDATED;
}

struct Info {
    cuuint64_t* id;
    CUgraph* graph;
    const CUgraphNode** nodes;
    const CUgraphEdgeData** data;
    size_t* count;
};

CUresult tell(const Stream& stream, const CaptureFront& front, const Info& info) {
    if (info.nodes != nullptr && info.data == nullptr)
        for (const CUgraphEdgeData& data : front.data)
            if (!graph::is_plain(data)) return CUDA_ERROR_LOSSY_QUERY;
    if (info.id != nullptr) *info.id = stream.capture->id();
    if (info.graph != nullptr) *info.graph = handle_of(&stream.capture->graph());
    if (info.nodes != nullptr) *info.nodes = reinterpret_cast<const CUgraphNode*>(front.nodes.data());
    if (info.data != nullptr) *info.data = front.data.data();
    if (info.count != nullptr) *info.count = front.nodes.size();
    return CUDA_SUCCESS;
}

CUresult tell(CUstream handle, CUstreamCaptureStatus* status, const Info& info) {
    if (status == nullptr || (info.data != nullptr && info.nodes == nullptr)) return CUDA_ERROR_INVALID_VALUE;
    const auto held = engine::lock();
    Stream* stream = nullptr;
    RETURN_IF_FAILED(look(handle, stream));
    *status = status_of(*stream);
    if (*status != CU_STREAM_CAPTURE_STATUS_ACTIVE) return CUDA_SUCCESS;
    return tell(*stream, stream->capture->front(*stream), info);
}

}  // namespace
}  // namespace gpusim::driver

using namespace gpusim;
using namespace gpusim::driver;

API(cuStreamBeginCapture_v2)(CUstream stream, CUstreamCaptureMode mode) {
    const auto held = engine::lock();
    return begin(stream, mode, graph::make(), {});
}
API(cuStreamBeginCapture)(CUstream stream) {
    return sim_cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL);
}

API(cuStreamBeginCaptureToGraph)
(CUstream stream, CUgraph handle, const CUgraphNode* dependencies, const CUgraphEdgeData* data, size_t count,
 CUstreamCaptureMode mode) {
    const auto held = engine::lock();
    Graph* graph = graphs().find(handle);
    if (graph == nullptr) return CUDA_ERROR_INVALID_VALUE;
    std::vector<Edge> edges;
    RETURN_IF_FAILED(graph::read_edges(*graph, dependencies, data, count, edges));
    return begin(stream, mode, graph->shared_from_this(), edges);
}

// What a recapture finds in the graph is not compared with it: all is recorded again, behind what there is.
API(cuStreamBeginRecaptureToGraph)
(CUstream stream, CUstreamCaptureMode mode, CUgraph handle, CUgraphRecaptureCallback, void*) {
    return sim_cuStreamBeginCaptureToGraph(stream, handle, nullptr, nullptr, 0, mode);
}

API(cuStreamEndCapture)(CUstream handle, CUgraph* graph) {
    if (graph == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const auto held = engine::lock();
    *graph = nullptr;
    Stream* stream = find_stream(handle);
    return stream != nullptr ? end(*stream, graph) : stream_error();
}

API(cuStreamIsCapturing)(CUstream stream, CUstreamCaptureStatus* status) { return tell(stream, status, {}); }

API(cuStreamGetCaptureInfo_v3)
(CUstream stream, CUstreamCaptureStatus* status, cuuint64_t* id, CUgraph* graph, const CUgraphNode** nodes,
 const CUgraphEdgeData** data, size_t* count) {
    return tell(stream, status, {id, graph, nodes, data, count});
}
API(cuStreamGetCaptureInfo_v2)
(CUstream stream, CUstreamCaptureStatus* status, cuuint64_t* id, CUgraph* graph, const CUgraphNode** nodes,
 size_t* count) {
    return tell(stream, status, {id, graph, nodes, nullptr, count});
}
API(cuStreamGetCaptureInfo)(CUstream stream, CUstreamCaptureStatus* status, cuuint64_t* id) {
    return tell(stream, status, {id, nullptr, nullptr, nullptr, nullptr});
}

API(cuStreamUpdateCaptureDependencies_v2)
(CUstream handle, CUgraphNode* dependencies, const CUgraphEdgeData* data, size_t count, unsigned flags) {
    if (flags > CU_STREAM_SET_CAPTURE_DEPENDENCIES) return CUDA_ERROR_INVALID_VALUE;
    const auto held = engine::lock();
    Stream* stream = find_stream(handle);
    if (stream == nullptr) return stream_error();
    if (stream->capture == nullptr) return CUDA_ERROR_ILLEGAL_STATE;
    if (!stream->capture->valid()) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    std::vector<Edge> edges;
    RETURN_IF_FAILED(graph::read_edges(stream->capture->graph(), dependencies, data, count, edges));
    CaptureFront& front = stream->capture->front(*stream);
    // What leaves the front here is in none any more: it need not be joined at the end.
    if (flags == CU_STREAM_SET_CAPTURE_DEPENDENCIES) front = {};
    for (const Edge& edge : edges) front.add(edge.from, edge.data);
    return CUDA_SUCCESS;
}
API(cuStreamUpdateCaptureDependencies)
(CUstream stream, CUgraphNode* dependencies, size_t count, unsigned flags) {
    return sim_cuStreamUpdateCaptureDependencies_v2(stream, dependencies, nullptr, count, flags);
}

API(cuThreadExchangeStreamCaptureMode)(CUstreamCaptureMode* mode) {
    if (mode == nullptr || !is_mode(*mode)) return CUDA_ERROR_INVALID_VALUE;
    std::swap(*mode, capture::thread_mode());
    return CUDA_SUCCESS;
}
