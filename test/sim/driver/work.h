// Work: what a stream can be asked to do, in one form for direct calls and for nodes of graphs. A call
// describes its work and submits it to a stream; a stream that is being captured makes it a node, any other
// issues it at once. All under engine::lock().
#pragma once

#include <memory>
#include <variant>
#include <vector>

#include "objects.h"

namespace gpusim::driver {

struct KernelWork {
    Function* function = nullptr;
    Kernel* kernel = nullptr;  // where the program gave a CUkernel
    unsigned grid[3] = {1, 1, 1};
    unsigned block[3] = {1, 1, 1};
    unsigned shared_bytes = 0;
    bool cooperative = false;
    std::vector<CUlaunchAttribute> attributes;
    // The program's, valid during its call only; after keep_parameters: own copies.
    void** parameters = nullptr;
    std::shared_ptr<const void> kept;
    void keep_parameters();  // for work that outlives the call
};

// All copies in one form: cuMemcpy3DPeer's. Unified pointers are allowed on both sides.
struct CopyWork {
    CUDA_MEMCPY3D_PEER shape{};
    // Bytes taken out of the source already, during the call (small pageable copies).
    std::shared_ptr<std::vector<std::byte>> staged;
};

struct MemsetWork {
    CUdeviceptr target = 0;
    size_t pitch = 0;
    unsigned value = 0;
    unsigned element_bytes = 1;
    size_t width = 0;  // in elements
    size_t height = 1;
};

struct HostWork {
    CUhostFn function = nullptr;
    void* data = nullptr;
    CUstreamCallback callback = nullptr;  // the older form, which is told stream and status
    CUstream callback_stream = nullptr;
};

struct RecordWork {
    Event* event = nullptr;
};

struct WaitWork {
    Event* event = nullptr;
};

struct ValueWork {
    std::vector<CUstreamBatchMemOpParams> operations;
};

struct AllocWork {
    Pool* pool = nullptr;
    CUdeviceptr address = 0;
    size_t bytes = 0;
    CUDA_MEM_ALLOC_NODE_PARAMS asked{};
};

struct FreeWork {
    CUdeviceptr address = 0;
};

struct EmptyWork {};

struct ChildWork {
    std::shared_ptr<struct Graph> graph;
};

using Work = std::variant<EmptyWork, KernelWork, CopyWork, MemsetWork, HostWork, RecordWork, WaitWork,
                          ValueWork, AllocWork, FreeWork, ChildWork>;

// Whether its geometry and shared memory are within the device's limits and the function's.
CUresult check_shape(const KernelWork& work);

// Where work runs and since when it may.
struct Place {
    Context* context = nullptr;
    uint64_t stream_id = 0;
    Ns issued_ns = 0;       // of the call that issues it
    bool in_graph = false;  // a graph's nodes are on the device already: no latency of their own
};

// Issues work to the device after `after`; its end. One overload per kind, each in the file of its kind.
Point issue_work(const KernelWork&, const Place&, const Point& after);
Point issue_work(const CopyWork&, const Place&, const Point& after);
Point issue_work(const MemsetWork&, const Place&, const Point& after);
Point issue_work(const HostWork&, const Place&, const Point& after);
Point issue_work(const RecordWork&, const Place&, const Point& after);
Point issue_work(const WaitWork&, const Place&, const Point& after);
Point issue_work(const ValueWork&, const Place&, const Point& after);
Point issue_work(const AllocWork&, const Place&, const Point& after);
Point issue_work(const FreeWork&, const Place&, const Point& after);
Point issue_work(const EmptyWork&, const Place&, const Point& after);
Point issue_work(const ChildWork&, const Place&, const Point& after);

// Submits work to a stream: issued after all that the stream must come after, or recorded by its capture. The
// work's end goes to `end` where that is wanted (untouched while capturing).
CUresult submit(Stream& stream, Work work, Point* end = nullptr);

// What new work on this stream comes after: its own past and, by the legacy stream's rules, that of others.
Point before_new_work(Stream& stream);

// The call's synchronous forms: submit, then block until it is over. Fails while the stream is captured.
CUresult submit_and_wait(Stream& stream, Work work, engine::Lock& lock);

// Blocks the calling thread until `point`; then the context's sticky error, if it has one by now.
CUresult wait_for(Point point, Context& context, engine::Lock& lock);

}  // namespace gpusim::driver
