// Words (words.h) that look into the structs of the driver API.
#pragma once

#include "../calls/driver_api.h"
#include "../calls/questions.h"
#include "../ring/ring_format.h"
#include "words.h"

namespace gpushim::shim::words {

// The geometry in a CUlaunchConfig.
template <size_t N>
struct config_grid {
    template <class A>
    static uint64_t take(const A& a, bool succeeded) {
        const auto* config = std::get<N>(a);
        return succeeded ? packed_grid(config->gridDimX, config->gridDimY, config->gridDimZ) : 0;
    }
};

template <size_t N>
struct config_block {
    template <class A>
    static uint64_t take(const A& a, bool succeeded) {
        const auto* c = std::get<N>(a);
        return succeeded ? packed_block(c->blockDimX, c->blockDimY, c->blockDimZ, c->sharedMemBytes) : 0;
    }
};

// A second slot where a launch has attributes: the cluster (x:16 y:16 z:16), and a bit for the number of
// each.
template <size_t N>
struct config_odd {
    static constexpr unsigned kMostAttributes = 64;  // more than there are
    using second_slot = void;
    template <class A>
    static bool take_all(event::odd_launch& to, const A& a) {
        const CUlaunchConfig& config = *std::get<N>(a);
        if (config.numAttrs == 0 || config.attrs == nullptr) return false;
        to = {};
        for (unsigned i = 0; i < config.numAttrs; ++i) {
            const CUlaunchAttribute& attribute = config.attrs[i];
            const auto id = static_cast<uint32_t>(attribute.id);
            if (id < 64) to.attributes |= uint64_t{1} << id;
            if (attribute.id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION)
                to.cluster = packed_cluster(attribute.value.clusterDim.x, attribute.value.clusterDim.y,
                                            attribute.value.clusterDim.z);
        }
        return true;
    }
    template <class A>
    static bool is_programmatic(const A& a) {
        const CUlaunchConfig* config = std::get<N>(a);
        if (config == nullptr || config->attrs == nullptr || config->numAttrs > kMostAttributes) return false;
        for (unsigned i = 0; i < config->numAttrs; ++i)
            if (config->attrs[i].id == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION &&
                config->attrs[i].value.programmaticStreamSerializationAllowed != 0)
                return true;
        return false;
    }
    static uint64_t packed_cluster(uint64_t x, uint64_t y, uint64_t z) {
        return (x & 0xffff) | (y & 0xffff) << 16 | (z & 0xffff) << 32;
    }
};

template <size_t N>
struct node_function {
    template <class A>
    static uint64_t take(const A& a, bool succeeded) {
        const CUDA_KERNEL_NODE_PARAMS* node = std::get<N>(a);
        if (!succeeded || node == nullptr) return 0;
        return node->func != nullptr ? number(node->func) : number(node->kern);
    }
};

inline uint64_t bytes_of(const CUDA_MEMCPY3D& shape) {
    return uint64_t{shape.WidthInBytes} * shape.Height * shape.Depth;
}

// What a node of an executable graph gets (GraphChange).
constexpr uint64_t change(GraphChange what) { return static_cast<uint64_t>(what); }

template <size_t N>
struct copied_bytes {
    template <class A>
    static uint64_t take(const A& a, bool succeeded) {
        return succeeded ? bytes_of(*std::get<N>(a)) : 0;
    }
};

template <size_t N>
struct node_value {
    template <class A>
    static uint64_t take(const A& a, bool succeeded) {
        if (!succeeded) return 0;
        const CUgraphNodeParams& node = *std::get<N>(a);
        if (node.type == CU_GRAPH_NODE_TYPE_MEMCPY) return bytes_of(node.memcpy.copyParams);
        if (node.type == CU_GRAPH_NODE_TYPE_GRAPH) return number(node.graph.graph);
        if (node.type != CU_GRAPH_NODE_TYPE_KERNEL) return 0;
        return node.kernel.func != nullptr ? number(node.kernel.func) : number(node.kernel.kern);
    }
};

// makes<K>, by what the Nth argument says.
template <size_t N>
struct makes_any {
    using made_node = void;
    template <class A>
    static bool take_kind(GraphNode& kind, const A& a) {
        switch (std::get<N>(a)->type) {
            case CU_GRAPH_NODE_TYPE_KERNEL:
                kind = GraphNode::kernel;
                return true;
            case CU_GRAPH_NODE_TYPE_MEMCPY:
                kind = GraphNode::copy;
                return true;
            case CU_GRAPH_NODE_TYPE_MEMSET:
                kind = GraphNode::memset;
                return true;
            case CU_GRAPH_NODE_TYPE_GRAPH:
                kind = GraphNode::child;
                return true;
            default:
                return false;
        }
    }
};

template <size_t N>
struct node_change {
    template <class A>
    static uint64_t take(const A& a, bool succeeded) {
        if (!succeeded) return 0;
        switch (std::get<N>(a)->type) {
            case CU_GRAPH_NODE_TYPE_KERNEL:
                return change(GraphChange::function);
            case CU_GRAPH_NODE_TYPE_MEMCPY:
                return change(GraphChange::bytes);
            case CU_GRAPH_NODE_TYPE_GRAPH:
                return change(GraphChange::child);
            default:
                return change(GraphChange::nothing);
        }
    }
};

// Copies told by a struct: where from, where to, and the bytes with both memory types above them.
constexpr int kTargetShift = 60, kSourceShift = 56;

template <class Array, class Host, class Device>
inline uint64_t place(CUmemorytype type, Array array, Host host, Device device) {
    if (type == CU_MEMORYTYPE_ARRAY) return number(array);
    return type == CU_MEMORYTYPE_HOST ? number(host) : number(device);
}

template <size_t N>
struct shape_target {
    template <class A>
    static uint64_t take(const A& a, bool succeeded) {
        const auto* s = std::get<N>(a);
        return succeeded ? place(s->dstMemoryType, s->dstArray, s->dstHost, s->dstDevice) : 0;
    }
};

template <size_t N>
struct shape_source {
    template <class A>
    static uint64_t take(const A& a, bool succeeded) {
        const auto* s = std::get<N>(a);
        return succeeded ? place(s->srcMemoryType, s->srcArray, s->srcHost, s->srcDevice) : 0;
    }
};

template <size_t N>
struct shape_bytes {
    template <class A>
    static uint64_t take(const A& a, bool succeeded) {
        if (!succeeded) return 0;
        const auto* shape = std::get<N>(a);
        uint64_t bytes = uint64_t{shape->WidthInBytes} * shape->Height;
        if constexpr (requires { shape->Depth; }) bytes *= shape->Depth;
        return bytes | number(shape->dstMemoryType) << kTargetShift |
               number(shape->srcMemoryType) << kSourceShift;
    }
};

inline bool is_array(const CUmemcpy3DOperand& operand) {
    return operand.type == CU_MEMCPY_OPERAND_TYPE_ARRAY;
}
inline uint64_t place(const CUmemcpy3DOperand& operand) {
    return is_array(operand) ? number(operand.op.array.array) : number(operand.op.ptr.ptr);
}
inline uint64_t type_of(const CUmemcpy3DOperand& operand) {
    return number(is_array(operand) ? CU_MEMORYTYPE_ARRAY : CU_MEMORYTYPE_UNIFIED);
}

template <size_t N>
struct operand_target {
    template <class A>
    static uint64_t take(const A& a, bool succeeded, size_t i) {
        return succeeded ? place(std::get<N>(a)[i].dst) : 0;
    }
};

template <size_t N>
struct operand_source {
    template <class A>
    static uint64_t take(const A& a, bool succeeded, size_t i) {
        return succeeded ? place(std::get<N>(a)[i].src) : 0;
    }
};

template <size_t N>
struct operand_bytes {
    template <class A>
    static uint64_t take(const A& a, bool succeeded, size_t i) {
        if (!succeeded) return 0;
        const CUDA_MEMCPY3D_BATCH_OP& op = std::get<N>(a)[i];
        return (uint64_t{op.extent.width} * op.extent.height * op.extent.depth) |
               type_of(op.dst) << kTargetShift | type_of(op.src) << kSourceShift;
    }
};

// What lies behind another GPU's end point has no address here.
inline uint64_t place(const CUfabricCpyOperand& operand) {
    constexpr unsigned kAddress = 1;
    return operand.type == kAddress ? number(operand.op.ptr.ptr) : 0;
}

template <size_t N>
struct fabric_target {
    template <class A>
    static uint64_t take(const A& a, bool, size_t i) {
        return place(std::get<N>(a)[i].dst);
    }
};

template <size_t N>
struct fabric_source {
    template <class A>
    static uint64_t take(const A& a, bool, size_t i) {
        return place(std::get<N>(a)[i].src);
    }
};

// The context that is current after the call: only the driver knows what lay below the one that was popped.
struct now_current {
    template <class A>
    static uint64_t take(const A&, bool) {
        return number(current_context());
    }
};

// Whether a device's primary context outlives its release.
template <size_t N>
struct still_active {
    template <class A>
    static uint64_t take(const A& a, bool) {
        return primary_context_is_active(std::get<N>(a)) ? 1 : 0;
    }
};

}  // namespace gpushim::shim::words
