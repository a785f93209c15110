// A graph as a drawing: the text form that the dot program reads.
#include <cstdio>
#include <memory>

#include "graph.h"

namespace gpusim::driver {
namespace {

// In the order of CUgraphNodeType.
constexpr const char* kTypeNames[] = {
    "KERNEL",       "MEMCPY",       "MEMSET",           "HOST",           "GRAPH",     "EMPTY",
    "WAIT_EVENT",   "EVENT_RECORD", "EXT_SEMAS_SIGNAL", "EXT_SEMAS_WAIT", "MEM_ALLOC", "MEM_FREE",
    "BATCH_MEM_OP", "CONDITIONAL"};

class Drawing {
  public:
    Drawing(FILE* file, unsigned flags) : file_(file), flags_(flags) {}

    void draw(const Graph& graph) {
        std::fprintf(file_, "subgraph cluster_%llu {\nlabel=\"graph_%llu\"\n", number(graph.id),
                     number(graph.id));
        for (const GraphNode* node : graph.nodes) draw_node(*node);
        for (const GraphNode* node : graph.nodes)
            for (const Edge& edge : node->dependencies)
                std::fprintf(file_, "\"node_%llu\" -> \"node_%llu\"\n", number(edge.from->id),
                             number(node->id));
        std::fprintf(file_, "}\n");
    }

  private:
    static unsigned long long number(uint64_t id) { return id; }
    bool wants(unsigned flag) const { return (flags_ & (flag | CU_GRAPH_DEBUG_DOT_FLAGS_VERBOSE)) != 0; }

    void draw_node(const GraphNode& node) {
        std::fprintf(file_, "\"node_%llu\" [label=\"%llu %s", number(node.id), number(node.id),
                     kTypeNames[node.type()]);
        if (const auto* kernel = std::get_if<KernelWork>(&node.work)) draw_kernel(*kernel);
        if (wants(CU_GRAPH_DEBUG_DOT_FLAGS_HANDLES))
            std::fprintf(file_, "\\n%p", static_cast<const void*>(&node));
        std::fprintf(file_, "\"]\n");
        if (const auto* child = std::get_if<ChildWork>(&node.work)) draw(*child->graph);
    }

    void draw_kernel(const KernelWork& kernel) {
        std::fprintf(file_, "\\n%s", kernel.function->name);
        if (!wants(CU_GRAPH_DEBUG_DOT_FLAGS_KERNEL_NODE_PARAMS)) return;
        std::fprintf(file_, "\\ngrid %u,%u,%u block %u,%u,%u shared %u", kernel.grid[0], kernel.grid[1],
                     kernel.grid[2], kernel.block[0], kernel.block[1], kernel.block[2], kernel.shared_bytes);
    }

    FILE* file_;
    unsigned flags_;
};

}  // namespace
}  // namespace gpusim::driver

using namespace gpusim;
using namespace gpusim::driver;

API(cuGraphDebugDotPrint)(CUgraph handle, const char* path, unsigned flags) {
    const auto held = engine::lock();
    const Graph* graph = graphs().find(handle);
    if (graph == nullptr || path == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const std::unique_ptr<FILE, int (*)(FILE*)> file(std::fopen(path, "w"), std::fclose);
    if (file == nullptr) return CUDA_ERROR_OPERATING_SYSTEM;
    std::fprintf(file.get(), "digraph dot {\n");
    Drawing(file.get(), flags).draw(*graph);
    std::fprintf(file.get(), "}\n");
    return CUDA_SUCCESS;
}
