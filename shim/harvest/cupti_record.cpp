#include "cupti_record.h"

#include <cstddef>
#include <string_view>

namespace gpushim::shim {
namespace {

// Where `Old` and `New` have what is read of them.
template <class Old, class New>
constexpr bool is_laid_out_alike() {
    return offsetof(Old, start) == offsetof(New, start) && offsetof(Old, end) == offsetof(New, end) &&
           offsetof(Old, deviceId) == offsetof(New, deviceId) &&
           offsetof(Old, correlationId) == offsetof(New, correlationId) &&
           offsetof(Old, graphNodeId) == offsetof(New, graphNodeId);
}
template <class Old, class New>
constexpr bool is_kernel_alike() {
    return is_laid_out_alike<Old, New>() && offsetof(Old, name) == offsetof(New, name);
}

using Kernel = CUpti_ActivityKernel5;
using Copy = CUpti_ActivityMemcpy4;
using PeerCopy = CUpti_ActivityMemcpyPtoP2;
using Memset = CUpti_ActivityMemset2;

static_assert(is_kernel_alike<Kernel, CUpti_ActivityKernel6>());
static_assert(is_kernel_alike<Kernel, CUpti_ActivityKernel7>());
static_assert(is_kernel_alike<Kernel, CUpti_ActivityKernel8>());
static_assert(is_kernel_alike<Kernel, CUpti_ActivityKernel9>());
static_assert(is_kernel_alike<Kernel, CUpti_ActivityKernel10>());
static_assert(is_laid_out_alike<Copy, CUpti_ActivityMemcpy5>());
static_assert(is_laid_out_alike<Copy, CUpti_ActivityMemcpy6>());
static_assert(is_laid_out_alike<PeerCopy, CUpti_ActivityMemcpyPtoP3>());
static_assert(is_laid_out_alike<PeerCopy, CUpti_ActivityMemcpyPtoP4>());
static_assert(is_laid_out_alike<Memset, CUpti_ActivityMemset3>());
static_assert(is_laid_out_alike<Memset, CUpti_ActivityMemset4>());

template <class Record>
bool take(const CUpti_Activity& record, GraphNode kind, DeviceRecord& read) {
    const auto& whole = reinterpret_cast<const Record&>(record);
    read.correlation = whole.correlationId;
    read.device = whole.deviceId;
    read.start_ns = static_cast<int64_t>(whole.start);
    read.end_ns = static_cast<int64_t>(whole.end);
    read.node = whole.graphNodeId;
    read.name = nullptr;
    read.read_ns = 0;
    read.kind = kind;
    return whole.start != 0 && whole.end >= whole.start;
}

constexpr std::string_view kCopyKernels[] = {
#define COPY_KERNEL(name, bytes) name,
#include "copy_kernels.def"
#undef COPY_KERNEL
};

}  // namespace

bool read_record(const CUpti_Activity& record, DeviceRecord& read) {
    switch (record.kind) {
        case CUPTI_ACTIVITY_KIND_KERNEL:
        case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL: {
            const bool is_over = take<Kernel>(record, GraphNode::kernel, read);
            read.name = reinterpret_cast<const Kernel&>(record).name;
            return is_over;
        }
        case CUPTI_ACTIVITY_KIND_MEMCPY:
            return take<Copy>(record, GraphNode::copy, read);
        case CUPTI_ACTIVITY_KIND_MEMCPY2:
            return take<PeerCopy>(record, GraphNode::copy, read);
        case CUPTI_ACTIVITY_KIND_MEMSET:
            return take<Memset>(record, GraphNode::memset, read);
        default:
            return false;
    }
}

GraphNode kind_of_node(const DeviceRecord& record) {
    if (record.kind != GraphNode::kernel || record.name == nullptr) return record.kind;
    for (const std::string_view name : kCopyKernels)
        if (name == record.name) return GraphNode::copy;
    return record.kind;
}

}  // namespace gpushim::shim
