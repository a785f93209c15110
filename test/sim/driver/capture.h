// Stream capture: streams that record their work into a graph instead of executing it, and what is forbidden
// meanwhile. What a rule forbids also invalidates the captures that it protects, as the driver documents, so
// each of the `forbids_…` functions is to be called only by calls that would go on. All under engine::lock()
// unless it says otherwise.
#pragma once

#include <sys/mman.h>

#include "graph.h"

namespace gpusim::driver {

// Pages of its own, gone as soon as they are freed: who still reads there is ended.
template <class T>
struct OwnPages {
    using value_type = T;
    T* allocate(size_t count) {
        void* pages =
            mmap(nullptr, count * sizeof(T), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (pages == MAP_FAILED) throw std::bad_alloc();
        return static_cast<T*>(pages);
    }
    void deallocate(T* pages, size_t count) { munmap(pages, count * sizeof(T)); }
    bool operator==(const OwnPages&) const { return true; }
};

using NodesOfFront = std::vector<GraphNode*, OwnPages<GraphNode*>>;

// What the next node of a stream will come after. Two arrays, because programs are shown them: the nodes
// until the next call on the stream.
struct CaptureFront {
    NodesOfFront nodes;
    std::vector<CUgraphEdgeData> data;

    void add(GraphNode* node, const CUgraphEdgeData& data_of_edge = {});
    void set(GraphNode* node);
    std::vector<Edge> edges() const;
};

// One sequence, from its begin to its end: the stream it began in and those that joined by events. Streams
// and events share ownership of it.
class Capture {
  public:
    Capture(Stream& origin, CUstreamCaptureMode mode, std::shared_ptr<Graph> graph);
    ~Capture();
    Capture(const Capture&) = delete;
    Capture& operator=(const Capture&) = delete;

    uint64_t id() const { return id_; }
    Graph& graph() const { return *graph_; }
    CUstreamCaptureMode mode() const { return mode_; }
    bool began_in(const Stream& stream) const { return &stream == origin_; }
    bool began_here() const { return thread_ == std::this_thread::get_id(); }
    bool valid() const { return valid_; }
    bool ended() const { return ended_; }
    bool running() const { return valid_ && !ended_; }

    CaptureFront& front(Stream& stream) { return fronts_[&stream]; }

    void invalidate() { valid_ = false; }
    // Streams execute again. The graph is the caller's.
    std::shared_ptr<Graph> end();
    bool joined() const;  // whether all that other streams recorded comes before the end of the first

  private:
    uint64_t id_;
    CUstreamCaptureMode mode_;
    std::thread::id thread_;
    Stream* origin_;
    std::shared_ptr<Graph> graph_;
    std::map<Stream*, CaptureFront> fronts_;
    bool valid_ = true;
    bool ended_ = false;
};

namespace capture {

// The stream records: `work` becomes a node of the graph, after what the stream has recorded so far.
CUresult record(Stream& stream, Work work);

// cuEventRecord on / cuStreamWaitEvent by a stream, where the stream is being captured or the event was
// recorded in a capture (which the waiting stream then joins).
CUresult record_event(Stream& stream, Event& event);
CUresult wait_event(Stream& stream, Event& event);

// Whether using the legacy stream now is forbidden because a blocking stream of the context is being captured
// (CUDA_ERROR_STREAM_CAPTURE_IMPLICIT).
CUresult forbids_legacy(Context& context);
// The same for calls that only look and disturb nothing.
bool makes_legacy_unusable(const Context& context);

// The host waits for, or asks about, what these do. Conflicts with a capture they are part of are told first
// (STREAM_ CAPTURE_UNSUPPORTED, STREAM_CAPTURE_IMPLICIT, CAPTURED_EVENT); in any other case such a call is
// potentially unsafe.
CUresult forbids_sync(Stream& stream);
CUresult forbids_context_sync(Context& context);
CUresult forbids_host_wait(Event& event);

// For every other export that the driver calls potentially unsafe (entry.cpp asks once per export, by base
// name) …
bool is_unsafe(const char* base_name);
// … whether the calling thread may call it now, by its own mode and all captures. Takes the lock.
CUresult forbids_unsafe_call();
CUresult forbids_unsafe_call_now();  // with the lock held

// The stream is about to be destroyed: its capture cannot be completed, and ends here if it began here.
void leave(Stream& stream);

// All captures that have begun and not ended.
const std::set<Capture*>& all();
// The calling thread's own mode.
CUstreamCaptureMode& thread_mode();

}  // namespace capture
}  // namespace gpusim::driver
