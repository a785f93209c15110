#include "graph_memory.h"

#include <algorithm>

#include "memory.h"
#include "pool.h"

namespace gpusim::driver {
namespace {

struct Allocation {
    int device = 0;
    size_t size_bytes = 0;
    int holders = 0;
    bool lives = false;
};

struct Usage {
    uint64_t used = 0, used_high = 0, reserved = 0, reserved_high = 0;
};

std::map<CUdeviceptr, Allocation>& allocations() {
    static auto* const all = new std::map<CUdeviceptr, Allocation>;
    return *all;
}

Usage& usage(int device) {
    static auto* const all = new std::map<int, Usage>;
    return (*all)[device];
}

void set_lives(Allocation& allocation, bool lives) {
    if (allocation.lives == lives) return;
    Usage& u = usage(allocation.device);
    allocation.lives = lives;
    u.used = lives ? u.used + allocation.size_bytes : u.used - allocation.size_bytes;
    u.used_high = std::max(u.used_high, u.used);
}

void release_if_unused(std::map<CUdeviceptr, Allocation>::iterator found) {
    if (found->second.holders != 0 || found->second.lives) return;
    usage(found->second.device).reserved -= found->second.size_bytes;
    free_graph_memory(found->first);
    allocations().erase(found);
}

// All allocation and free nodes of a graph and its child graphs, in the order in which they were added.
template <class Kind, class Visit>
void for_each(const Graph& graph, const Visit& visit) {
    for (const GraphNode* node : graph.nodes) {
        if (const auto* work = std::get_if<Kind>(&node->work)) visit(*work);
        if (const auto* child = std::get_if<ChildWork>(&node->work)) for_each<Kind>(*child->graph, visit);
    }
}

bool frees(const Graph& graph, CUdeviceptr address) {
    bool found = false;
    for_each<FreeWork>(graph, [&](const FreeWork& work) { found = found || work.address == address; });
    return found;
}

void reserve(const AllocWork& work, const Context& context) {
    Usage& u = usage(context.device->ordinal);
    allocations()[work.address] = {context.device->ordinal, work.bytes, 0, false};
    u.reserved += work.bytes;
    u.reserved_high = std::max(u.reserved_high, u.reserved);
}

}  // namespace

namespace graph_memory {

CUresult read_alloc(CUDA_MEM_ALLOC_NODE_PARAMS_v2& params, Work& work, Context*& context) {
    const CUmemPoolProps& pool = params.poolProps;
    Device* on = pool.location.type == CU_MEM_LOCATION_TYPE_DEVICE ? device(pool.location.id) : nullptr;
    if (on == nullptr || params.bytesize == 0 || pool.allocType != CU_MEM_ALLOCATION_TYPE_PINNED ||
        pool.handleTypes != CU_MEM_HANDLE_TYPE_NONE ||
        (params.accessDescs == nullptr && params.accessDescCount != 0))
        return CUDA_ERROR_INVALID_VALUE;
    Context* current = current_context();
    context = current != nullptr && current->device == on ? current : on->primary;
    if (context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
    AllocWork alloc;
    alloc.bytes = params.bytesize;
    alloc.asked.poolProps = pool;
    alloc.address = allocate_graph_memory(alloc, *context);
    if (alloc.address == 0) return CUDA_ERROR_OUT_OF_MEMORY;
    params.dptr = alloc.address;
    work = alloc;
    return CUDA_SUCCESS;
}

CUresult read_free(CUdeviceptr address, Work& work, Context*& context) {
    const auto found = allocations().find(address);
    if (found == allocations().end()) return CUDA_ERROR_INVALID_VALUE;
    Context* current = current_context();
    Device* on = device(found->second.device);
    context = current != nullptr && current->device == on ? current : on->primary;
    work = FreeWork{address};
    return context != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

CUresult may_free(const Graph& graph, const FreeWork& work) {
    return frees(graph, work.address) ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

void hold(const Work& work, const Context* context) {
    const auto* alloc = std::get_if<AllocWork>(&work);
    if (alloc == nullptr || context == nullptr) return;
    if (!allocations().contains(alloc->address)) reserve(*alloc, *context);
    ++allocations()[alloc->address].holders;
}

void let_go(const Work& work) {
    const auto* alloc = std::get_if<AllocWork>(&work);
    if (alloc == nullptr) return;
    const auto found = allocations().find(alloc->address);
    if (found == allocations().end()) return;
    --found->second.holders;
    release_if_unused(found);
}

CUresult before_launch(const GraphExec& exec, std::vector<FreeWork>& to_free) {
    for_each<AllocWork>(*exec.graph, [&](const AllocWork& work) {
        if (allocations()[work.address].lives) to_free.push_back({work.address});
    });
    const bool by_itself = (exec.flags & CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH) != 0;
    return to_free.empty() || by_itself ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

void launched(const Graph& graph) {
    for_each<AllocWork>(graph, [](const AllocWork& work) { set_lives(allocations()[work.address], true); });
    for_each<FreeWork>(graph, [](const FreeWork& work) { freed(work.address); });
}

void freed(CUdeviceptr address) {
    const auto found = allocations().find(address);
    if (found == allocations().end()) return;
    set_lives(found->second, false);
    release_if_unused(found);
}

}  // namespace graph_memory
}  // namespace gpusim::driver

using namespace gpusim;
using namespace gpusim::driver;

API(cuDeviceGetGraphMemAttribute)(CUdevice ordinal, CUgraphMem_attribute attribute, void* value) {
    const auto held = engine::lock();
    if (device(ordinal) == nullptr) return CUDA_ERROR_INVALID_DEVICE;
    if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const Usage& u = usage(ordinal);
    auto& answer = *static_cast<cuuint64_t*>(value);
    switch (attribute) {
        case CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT:
            answer = u.used;
            return CUDA_SUCCESS;
        case CU_GRAPH_MEM_ATTR_USED_MEM_HIGH:
            answer = u.used_high;
            return CUDA_SUCCESS;
        case CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT:
            answer = u.reserved;
            return CUDA_SUCCESS;
        case CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH:
            answer = u.reserved_high;
            return CUDA_SUCCESS;
        default:
            return CUDA_ERROR_INVALID_VALUE;
    }
}

// Only the high-water marks can be set, and only to zero: they begin anew with what is there now.
API(cuDeviceSetGraphMemAttribute)(CUdevice ordinal, CUgraphMem_attribute attribute, void* value) {
    const auto held = engine::lock();
    if (device(ordinal) == nullptr) return CUDA_ERROR_INVALID_DEVICE;
    if (value == nullptr || *static_cast<cuuint64_t*>(value) != 0) return CUDA_ERROR_INVALID_VALUE;
    Usage& u = usage(ordinal);
    if (attribute == CU_GRAPH_MEM_ATTR_USED_MEM_HIGH)
        u.used_high = u.used;
    else if (attribute == CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH)
        u.reserved_high = u.reserved;
    else
        return CUDA_ERROR_INVALID_VALUE;
    return CUDA_SUCCESS;
}

// What no node holds has been given back already.
API(cuDeviceGraphMemTrim)(CUdevice ordinal) {
    const auto held = engine::lock();
    return device(ordinal) != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}
