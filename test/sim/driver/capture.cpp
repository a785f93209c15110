#include "capture.h"

#include <algorithm>

namespace gpusim::driver {
namespace {

std::set<Capture*>& not_ended() {
    static auto* const all = new std::set<Capture*>;
    return *all;
}

uint64_t next_capture_id() {
    static uint64_t last = 0;
    return ++last;
}

// The nodes from which there is a way to one of these, and these.
std::unordered_set<const GraphNode*> up_to(const NodesOfFront& nodes) {
    std::unordered_set<const GraphNode*> seen(nodes.begin(), nodes.end());
    std::vector<const GraphNode*> next(nodes.begin(), nodes.end());
    while (!next.empty()) {
        const GraphNode* node = next.back();
        next.pop_back();
        for (const Edge& edge : node->dependencies)
            if (seen.insert(edge.from).second) next.push_back(edge.from);
    }
    return seen;
}

// What a stream of a capture gets to hear while it goes on, or after something invalidated it.
CUresult state_of(const Stream& stream) {
    return stream.capture->valid() ? CUDA_SUCCESS : CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
}

CUresult invalidate(Capture& capture, CUresult because) {
    capture.invalidate();
    return because;
}

// A stream that executes waits for an event of a capture.
CUresult join(Stream& stream, Event& event) {
    Capture& capture = *event.capture;
    if (capture.ended()) return CUDA_ERROR_CAPTURED_EVENT;
    if (!capture.valid()) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    if (stream.is_legacy) return invalidate(capture, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    stream.capture = event.capture;
    CaptureFront& front = capture.front(stream);
    for (GraphNode* node : event.captured_after) front.add(node);
    return CUDA_SUCCESS;
}

}  // namespace

void CaptureFront::add(GraphNode* node, const CUgraphEdgeData& data_of_edge) {
    if (std::find(nodes.begin(), nodes.end(), node) != nodes.end()) return;
    nodes.push_back(node);
    data.push_back(data_of_edge);
}

void CaptureFront::set(GraphNode* node) {
    nodes = NodesOfFront(1, node);
    data.assign(1, CUgraphEdgeData{});
}

std::vector<Edge> CaptureFront::edges() const {
    std::vector<Edge> all;
    for (size_t i = 0; i < nodes.size(); ++i) all.push_back({nodes[i], data[i]});
    return all;
}

Capture::Capture(Stream& origin, CUstreamCaptureMode mode, std::shared_ptr<Graph> graph)
    : id_(next_capture_id()),
      mode_(mode),
      thread_(std::this_thread::get_id()),
      origin_(&origin),
      graph_(std::move(graph)),
      fronts_{{&origin, CaptureFront{}}} {
    ++graph_->captures;
    not_ended().insert(this);
}

Capture::~Capture() { end(); }

std::shared_ptr<Graph> Capture::end() {
    if (ended_) return nullptr;
    ended_ = true;
    --graph_->captures;
    not_ended().erase(this);
    for (const auto& [stream, front] : fronts_) {
        Stream* alive = streams().find(stream);
        if (alive != nullptr && alive->capture.get() == this) alive->capture.reset();
    }
    return std::move(graph_);
}

bool Capture::joined() const {
    const auto reached = up_to(fronts_.at(origin_).nodes);
    for (const auto& [stream, front] : fronts_)
        for (GraphNode* node : front.nodes)
            if (!reached.contains(node)) return false;
    return true;
}

namespace capture {

const std::set<Capture*>& all() { return not_ended(); }

CUresult record(Stream& stream, Work work) {
    RETURN_IF_FAILED(state_of(stream));
    if (auto* kernel = std::get_if<KernelWork>(&work)) kernel->keep_parameters();
    CaptureFront& front = stream.capture->front(stream);
    Graph& graph = stream.capture->graph();
    front.set(graph::add_node(graph, std::move(work), stream.context, front.edges()));
    return CUDA_SUCCESS;
}

CUresult record_event(Stream& stream, Event& event) {
    RETURN_IF_FAILED(state_of(stream));
    event.capture = stream.capture;
    const auto& nodes = stream.capture->front(stream).nodes;
    event.captured_after.assign(nodes.begin(), nodes.end());
    return CUDA_SUCCESS;
}

CUresult wait_event(Stream& stream, Event& event) {
    if (stream.capture == nullptr) return join(stream, event);
    RETURN_IF_FAILED(state_of(stream));
    Capture& mine = *stream.capture;
    if (event.capture == stream.capture) {
        for (GraphNode* node : event.captured_after) mine.front(stream).add(node);
        return CUDA_SUCCESS;
    }
    if (event.capture != nullptr && !event.capture->ended()) {
        event.capture->invalidate();
        return invalidate(mine, CUDA_ERROR_STREAM_CAPTURE_MERGE);
    }
    // An event that was never recorded stands for nothing that could be outside.
    const bool nothing = event.capture == nullptr && !event.recorded;
    return nothing ? CUDA_SUCCESS : invalidate(mine, CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
}

void leave(Stream& stream) {
    const auto capture = std::move(stream.capture);
    if (capture == nullptr) return;
    capture->invalidate();
    if (capture->began_in(stream)) capture->end();
}

}  // namespace capture
}  // namespace gpusim::driver
