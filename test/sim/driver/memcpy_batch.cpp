// Batches of copies in one call. A batch is checked as a whole before any of it is issued; the older forms
// say which copy was at fault, or SIZE_MAX where it was none of them.
#include <algorithm>
#include <cstdint>
#include <vector>

#include "array.h"
#include "copy.h"
#include "copy_shape.h"

using namespace gpusim;
using namespace gpusim::driver;

namespace {

struct Item {
    CopyShape shape;
    CUmemcpySrcAccessOrder order;
};

CopyForm form_of(CUmemcpySrcAccessOrder order) {
    return order == CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL ? CopyForm::asynchronous_from_ephemeral
                                                               : CopyForm::asynchronous;
}

bool is_order(CUmemcpySrcAccessOrder order) {
    return order >= CU_MEMCPY_SRC_ACCESS_ORDER_STREAM && order <= CU_MEMCPY_SRC_ACCESS_ORDER_ANY;
}

CUresult issue(const std::vector<Item>& items, size_t& failed, CUstream handle) {
    auto held = engine::lock();
    Stream* stream = find_stream(handle);
    if (stream == nullptr) return stream_error();
    if (stream->is_legacy) return CUDA_ERROR_INVALID_VALUE;
    for (failed = 0; failed < items.size(); ++failed) {
        Copy described;
        if (!is_order(items[failed].order)) return CUDA_ERROR_INVALID_VALUE;
        RETURN_IF_FAILED(resolve(items[failed].shape, described));
    }
    for (failed = 0; failed < items.size(); ++failed)
        RETURN_IF_FAILED(copy_on(*stream, items[failed].shape, form_of(items[failed].order), held));
    return CUDA_SUCCESS;
}

CUresult issue_and_tell(const std::vector<Item>& items, size_t* told, CUstream handle) {
    size_t failed = SIZE_MAX;
    const CUresult result = issue(items, failed, handle);
    if (told != nullptr) *told = result == CUDA_SUCCESS ? SIZE_MAX : failed;
    return result;
}

bool attributes_fit(const size_t* first, size_t attribute_count, size_t count) {
    if (first[0] != 0 || attribute_count > count || first[attribute_count - 1] >= count) return false;
    for (size_t i = 1; i < attribute_count; ++i)
        if (first[i] <= first[i - 1]) return false;
    return true;
}

CUresult batch(CUdeviceptr* to, CUdeviceptr* from, size_t* sizes, size_t count,
               CUmemcpyAttributes* attributes, size_t* first, size_t attribute_count, size_t* failed,
               CUstream stream) {
    if (failed != nullptr) *failed = SIZE_MAX;
    if (to == nullptr || from == nullptr || sizes == nullptr || attributes == nullptr || first == nullptr ||
        count == 0 || attribute_count == 0 || !attributes_fit(first, attribute_count, count))
        return CUDA_ERROR_INVALID_VALUE;
    std::vector<Item> items;
    for (size_t i = 0, attribute = 0; i < count; ++i) {
        if (attribute + 1 < attribute_count && first[attribute + 1] <= i) ++attribute;
        items.push_back(
            {flat(unified(to[i]), unified(from[i]), sizes[i]), attributes[attribute].srcAccessOrder});
    }
    return issue_and_tell(items, failed, stream);
}

size_t element_bytes(const CUmemcpy3DOperand& operand) {
    const Array* array =
        operand.type == CU_MEMCPY_OPERAND_TYPE_ARRAY ? arrays().find(operand.op.array.array) : nullptr;
    return array != nullptr ? array->element_bytes() : 1;
}

// Lengths are given in elements: those of the array that takes part, else bytes.
CopyShape shape_of(const CUDA_MEMCPY3D_BATCH_OP& op) {
    const size_t element = std::max(element_bytes(op.src), element_bytes(op.dst));
    CopyShape s{};
    s.WidthInBytes = op.extent.width * element, s.Height = op.extent.height, s.Depth = op.extent.depth;
    if (op.src.type == CU_MEMCPY_OPERAND_TYPE_ARRAY) {
        const auto& at = op.src.op.array;
        s.srcMemoryType = CU_MEMORYTYPE_ARRAY, s.srcArray = at.array;
        s.srcXInBytes = at.offset.x * element, s.srcY = at.offset.y, s.srcZ = at.offset.z;
    } else if (op.src.type == CU_MEMCPY_OPERAND_TYPE_POINTER) {
        const auto& at = op.src.op.ptr;
        s.srcMemoryType = CU_MEMORYTYPE_UNIFIED, s.srcDevice = at.ptr;
        s.srcPitch = at.rowLength * element, s.srcHeight = at.layerHeight;
    }
    if (op.dst.type == CU_MEMCPY_OPERAND_TYPE_ARRAY) {
        const auto& at = op.dst.op.array;
        s.dstMemoryType = CU_MEMORYTYPE_ARRAY, s.dstArray = at.array;
        s.dstXInBytes = at.offset.x * element, s.dstY = at.offset.y, s.dstZ = at.offset.z;
    } else if (op.dst.type == CU_MEMCPY_OPERAND_TYPE_POINTER) {
        const auto& at = op.dst.op.ptr;
        s.dstMemoryType = CU_MEMORYTYPE_UNIFIED, s.dstDevice = at.ptr;
        s.dstPitch = at.rowLength * element, s.dstHeight = at.layerHeight;
    }
    return s;
}

std::vector<Item> items_of(const CUDA_MEMCPY3D_BATCH_OP* operations, size_t count) {
    const auto held = engine::lock();
    std::vector<Item> items;
    for (size_t i = 0; i < count; ++i)
        items.push_back({shape_of(operations[i]), operations[i].srcAccessOrder});
    return items;
}

CUresult batch_3d(size_t count, CUDA_MEMCPY3D_BATCH_OP* operations, size_t* failed, unsigned long long flags,
                  CUstream stream) {
    if (failed != nullptr) *failed = SIZE_MAX;
    if (operations == nullptr || count == 0 || flags != 0) return CUDA_ERROR_INVALID_VALUE;
    return issue_and_tell(items_of(operations, count), failed, stream);
}

}  // namespace

API(cuMemcpyBatchAsync_v2)
(CUdeviceptr* to, CUdeviceptr* from, size_t* sizes, size_t count, CUmemcpyAttributes* attributes,
 size_t* first, size_t attribute_count, CUstream stream) {
    return batch(to, from, sizes, count, attributes, first, attribute_count, nullptr, stream);
}
API(cuMemcpyBatchAsync)
(CUdeviceptr* to, CUdeviceptr* from, size_t* sizes, size_t count, CUmemcpyAttributes* attributes,
 size_t* first, size_t attribute_count, size_t* failed, CUstream stream) {
    return batch(to, from, sizes, count, attributes, first, attribute_count, failed, stream);
}
API(cuMemcpy3DBatchAsync_v2)
(size_t count, CUDA_MEMCPY3D_BATCH_OP* operations, unsigned long long flags, CUstream stream) {
    return batch_3d(count, operations, nullptr, flags, stream);
}
API(cuMemcpy3DBatchAsync)
(size_t count, CUDA_MEMCPY3D_BATCH_OP* operations, size_t* failed, unsigned long long flags,
 CUstream stream) {
    return batch_3d(count, operations, failed, flags, stream);
}

API(cuMemcpyWithAttributesAsync)
(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUmemcpyAttributes* attributes, CUstream stream) {
    size_t first = 0;
    return batch(&to, &from, &bytes, 1, attributes, &first, 1, nullptr, stream);
}
API(cuMemcpy3DWithAttributesAsync)
(CUDA_MEMCPY3D_BATCH_OP* operation, unsigned long long flags, CUstream stream) {
    return batch_3d(1, operation, nullptr, flags, stream);
}

// Only addresses: there are no end points in the box.
API(cuFabricCpyBatchAsync)
(size_t count, CUDA_FABRIC_COPY_BATCH_OP* operations, unsigned long long flags, CUstream stream) {
    constexpr unsigned kAddress = 1;
    if (operations == nullptr || count == 0 || flags != 0) return CUDA_ERROR_INVALID_VALUE;
    std::vector<Item> items;
    for (size_t i = 0; i < count; ++i) {
        const CUDA_FABRIC_COPY_BATCH_OP& one = operations[i];
        if (one.src.type != kAddress || one.dst.type != kAddress) return CUDA_ERROR_NOT_SUPPORTED;
        items.push_back({flat(unified(one.dst.op.ptr.ptr), unified(one.src.op.ptr.ptr), one.size),
                         CU_MEMCPY_SRC_ACCESS_ORDER_STREAM});
    }
    return issue_and_tell(items, nullptr, stream);
}
