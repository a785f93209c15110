// Batches of copies: their bytes, their attributes, and which copy was at fault.
#include "copy_forms.h"

namespace memcpy_batch_test {

namespace {

constexpr size_t kBytes = 1000, kCount = 5;

struct Batch {
    CUstream stream = make_stream();
    std::vector<CUdeviceptr> to, from;
    std::vector<size_t> sizes = std::vector<size_t>(kCount, kBytes);
    std::vector<CUmemcpyAttributes> attributes = std::vector<CUmemcpyAttributes>(2);
    std::vector<size_t> first = {0, 3};

    Batch() {
        for (unsigned i = 0; i < kCount; ++i) {
            to.push_back(i % 2 == 0 ? device_memory(kBytes) : pinned_memory(kBytes));
            from.push_back(i < 3 ? device_memory(kBytes) : pageable_memory(kBytes));
            put_at(from[i], pattern(kBytes, i));
        }
        attributes[0].srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
        attributes[1].srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL;
    }
    CUresult submit() {
        return cuMemcpyBatchAsync_v2(to.data(), from.data(), sizes.data(), kCount, attributes.data(),
                                     first.data(), first.size(), stream);
    }
    CUresult submit_old(size_t& failed) {
        return cuMemcpyBatchAsync(to.data(), from.data(), sizes.data(), kCount, attributes.data(),
                                  first.data(), first.size(), &failed, stream);
    }
    void check_bytes() const {
        CU(cuStreamSynchronize(stream));
        for (unsigned i = 0; i < kCount; ++i) {
            CHECK(bytes_at(to[i], kBytes) == pattern(kBytes, i));
            put_at(to[i], Bytes(kBytes));
        }
    }
};

}  // namespace

TEST_CASE("a batch makes all of its copies", "[memcpy_batch]") {
    make_context();
    Batch batch;
    CU(batch.submit());
    batch.check_bytes();
    size_t failed = 0;
    CU(batch.submit_old(failed));
    CHECK(failed == SIZE_MAX);
    batch.check_bytes();
}

TEST_CASE("a batch with a wrong copy makes none, and the older form says which", "[memcpy_batch]") {
    make_context();
    Batch batch;
    batch.sizes[2] = kBytes + 1;
    size_t failed = 0;
    CU_IS(batch.submit_old(failed), CUDA_ERROR_INVALID_VALUE);
    CHECK(failed == 2);
    CU(cuStreamSynchronize(batch.stream));
    CHECK(bytes_at(batch.to[0], kBytes) != pattern(kBytes, 0));
    CU_IS(batch.submit(), CUDA_ERROR_INVALID_VALUE);
}

TEST_CASE("a batch's attributes must belong to its copies", "[memcpy_batch]") {
    make_context();
    for (const std::vector<size_t>& first : {std::vector<size_t>{1, 3}, {0, 0}, {0, kCount}}) {
        Batch batch;
        batch.first = first;
        CHECK(batch.submit() == CUDA_ERROR_INVALID_VALUE);
    }
    Batch batch;
    batch.attributes[1].srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_INVALID;
    size_t failed = 0;
    CU_IS(batch.submit_old(failed), CUDA_ERROR_INVALID_VALUE);
    CHECK(failed == 3);
    Batch on_legacy;
    on_legacy.stream = CU_STREAM_LEGACY;
    CU_IS(on_legacy.submit(), CUDA_ERROR_INVALID_VALUE);
}

// The stream waits for a word, so the copy is still to come when its source is changed.
TEST_CASE("an ephemeral source has been read when the batch returns", "[memcpy_batch]") {
    make_context();
    CUstream stream = make_stream();
    CUdeviceptr to = device_memory(kBytes), from = pinned_memory(kBytes);
    const CUdeviceptr go = pinned_memory(4);
    put_at(go, Bytes(4, 0));
    put_at(from, pattern(kBytes, 1));
    CU(cuStreamWaitValue32_v2(stream, go, 1, CU_STREAM_WAIT_VALUE_EQ));
    size_t size = kBytes, first = 0;
    CUmemcpyAttributes attributes{};
    attributes.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL;
    CU(cuMemcpyBatchAsync_v2(&to, &from, &size, 1, &attributes, &first, 1, stream));
    put_at(from, Bytes(kBytes));
    __atomic_store_n(reinterpret_cast<unsigned*>(go), 1, __ATOMIC_RELEASE);
    CU(cuStreamSynchronize(stream));
    CHECK(bytes_at(to, kBytes) == pattern(kBytes, 1));
}

// Arrays count in their elements of 4 bytes: 6 elements of 2 rows into an array of 8 by 4, from (1, 1) on.
TEST_CASE("a 3D batch copies to and from arrays and pointers", "[memcpy_batch]") {
    make_context();
    CUarray array = nullptr;
    const CUDA_ARRAY_DESCRIPTOR descriptor{8, 4, CU_AD_FORMAT_UNSIGNED_INT32, 1};
    CU(cuArrayCreate_v2(&array, &descriptor));
    const CUdeviceptr from = device_memory(100), to = device_memory(100);
    put_at(from, pattern(100, 6));
    CUDA_MEMCPY3D_BATCH_OP in{}, out{};
    in.srcAccessOrder = out.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
    in.extent = out.extent = {6, 2, 1};
    in.src.type = out.dst.type = CU_MEMCPY_OPERAND_TYPE_POINTER;
    in.src.op.ptr.ptr = from, in.src.op.ptr.rowLength = 10;
    in.dst.type = out.src.type = CU_MEMCPY_OPERAND_TYPE_ARRAY;
    in.dst.op.array.array = out.src.op.array.array = array;
    in.dst.op.array.offset = out.src.op.array.offset = {1, 1, 0};
    out.dst.op.ptr.ptr = to;
    CUstream stream = make_stream();
    size_t failed = 0;
    CU(cuMemcpy3DBatchAsync_v2(1, &in, 0, stream));
    CU(cuMemcpy3DBatchAsync(1, &out, &failed, 0, stream));
    CU(cuStreamSynchronize(stream));
    CHECK(failed == SIZE_MAX);
    CHECK(bytes_at(to, 24) == bytes_at(from, 24));
    CHECK(bytes_at(to + 24, 24) == bytes_at(from + 40, 24));
    in.extent.width = 8;
    CU_IS(cuMemcpy3DBatchAsync(1, &in, &failed, 0, stream), CUDA_ERROR_INVALID_VALUE);
    CHECK(failed == 0);
    CU_IS(cuMemcpy3DBatchAsync_v2(0, &in, 0, stream), CUDA_ERROR_INVALID_VALUE);
}

}  // namespace memcpy_batch_test
