// Stream memory operations: words written by streams, and streams that wait for words.
#include <chrono>
#include <thread>

#include "copy_forms.h"

namespace value_test {

namespace {

template <class T>
T word(CUdeviceptr address) {
    return *reinterpret_cast<volatile T*>(address);
}

CUdeviceptr zeroed() {
    const CUdeviceptr address = pinned_memory(64);
    put_at(address, Bytes(64, 0));
    return address;
}

}  // namespace

TEST_CASE("a stream writes words in its order, in every version", "[value]") {
    make_context();
    const CUdeviceptr a = zeroed(), b = device_memory(64);
    CU(cuStreamWriteValue32_v2(nullptr, a, 1, 0));
    CU(cuStreamWriteValue32(nullptr, a + 4, 2, CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER));
    CU(cuStreamWriteValue64_v2(nullptr, a + 8, uint64_t{3} << 40, 0));
    CU(cuStreamWriteValue64(nullptr, b, uint64_t{4} << 40, 0));
    CU(cuStreamWriteValue32_v2_ptsz(nullptr, a + 16, 5, 0));
    CU(cuCtxSynchronize());
    CHECK(
        (word<uint32_t>(a) == 1 && word<uint32_t>(a + 4) == 2 && word<uint64_t>(a + 8) == uint64_t{3} << 40));
    CHECK((word<uint64_t>(b) == uint64_t{4} << 40 && word<uint32_t>(a + 16) == 5));
}

namespace {

// one:    |-----busy 100 us-----|write
// other:  |wait.................|next 10 us
void check_wait(bool wait_first) {
    Timeline timeline;
    make_context();
    CUstream one = make_stream(CU_STREAM_NON_BLOCKING), other = make_stream(CU_STREAM_NON_BLOCKING);
    const CUdeviceptr flag = device_memory(64);
    const CUfunction busy = kernel("busy__100us"), next = kernel("next__10us");
    const auto wait_and_go_on = [&] {
        CU(cuStreamWaitValue32_v2(other, flag, 7, CU_STREAM_WAIT_VALUE_EQ));
        CU(launch(next, other));
    };
    timeline.start();
    if (wait_first) wait_and_go_on();
    if (wait_first) CU_IS(cuStreamQuery(other), CUDA_ERROR_NOT_READY);
    CU(launch(busy, one));
    CU(cuStreamWriteValue32_v2(one, flag, 7, 0));
    if (!wait_first) wait_and_go_on();
    CU(cuStreamSynchronize(other));
    CHECK(timeline.named("next__10us").start_ns == timeline.named("busy__100us").end_ns);
    CHECK(timeline.named("busy__100us").end_ns == (wait_first ? 106'000 : 105'000));
}

}  // namespace

TEST_CASE("a stream waits for the write of another that comes later", "[value]") { check_wait(true); }
TEST_CASE("a stream waits for the write of another that is known already", "[value]") { check_wait(false); }

TEST_CASE("a stream waits until the host writes the word", "[value]") {
    make_context();
    CUstream stream = make_stream();
    const CUdeviceptr flag = zeroed();
    CU(cuStreamWaitValue64_v2(stream, flag, 5, CU_STREAM_WAIT_VALUE_GEQ));
    CU_IS(cuStreamQuery(stream), CUDA_ERROR_NOT_READY);
    std::thread host([flag] {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        __atomic_store_n(reinterpret_cast<uint64_t*>(flag), 6, __ATOMIC_RELEASE);
    });
    CU(cuStreamSynchronize(stream));
    CHECK(word<uint64_t>(flag) == 6);
    host.join();
}

TEST_CASE("a word that the host set again is not taken for the stream's old write", "[value]") {
    Timeline timeline;
    make_context();
    CUstream stream = make_stream();
    const CUdeviceptr flag = zeroed();
    CU(cuStreamWriteValue32_v2(stream, flag, 1, 0));
    CU(cuStreamSynchronize(stream));
    put_at(flag, Bytes(4, 0));
    CU(cuStreamWaitValue32_v2(stream, flag, 1, CU_STREAM_WAIT_VALUE_EQ));
    timeline.start();
    CU(launch(kernel("after__10us"), stream));
    gpusim_advance_ns(50'000);
    CU_IS(cuStreamQuery(stream), CUDA_ERROR_NOT_READY);
    __atomic_store_n(reinterpret_cast<uint32_t*>(flag), 1, __ATOMIC_RELEASE);
    CU(cuStreamSynchronize(stream));
    CHECK(timeline.named("after__10us").start_ns >= 50'000);
}

TEST_CASE("each comparison holds where it should", "[value]") {
    make_context();
    struct Case {
        uint64_t held, asked;
        unsigned flags;
        bool wide, passes;
    };
    const Case cases[] = {
        {5, 5, CU_STREAM_WAIT_VALUE_GEQ, false, true},
        {4, 5, CU_STREAM_WAIT_VALUE_GEQ, false, false},
        {2, 0xfffffff0, CU_STREAM_WAIT_VALUE_GEQ, false, true},  // counters run over
        {0xfffffff0, 2, CU_STREAM_WAIT_VALUE_GEQ, false, false},
        {0xfffffff0, 2, CU_STREAM_WAIT_VALUE_GEQ, true, true},
        {5, 5, CU_STREAM_WAIT_VALUE_EQ, true, true},
        {6, 5, CU_STREAM_WAIT_VALUE_EQ, true, false},
        {6, 4, CU_STREAM_WAIT_VALUE_AND, false, true},
        {6, 1, CU_STREAM_WAIT_VALUE_AND, false, false},
        {6, 1, CU_STREAM_WAIT_VALUE_NOR, false, true},
        {0xffffffff, 0, CU_STREAM_WAIT_VALUE_NOR, false, false},
        {0xffffffff, 0, CU_STREAM_WAIT_VALUE_NOR, true, true},
    };
    const CUdeviceptr memory = pinned_memory(8 * std::size(cases));
    for (size_t i = 0; i < std::size(cases); ++i) {
        const Case& c = cases[i];
        INFO(c.held << " asked " << c.asked << " flags " << c.flags << " wide " << c.wide);
        const CUdeviceptr at = memory + 8 * i;
        __atomic_store_n(reinterpret_cast<uint64_t*>(at), c.held, __ATOMIC_RELEASE);
        CUstream stream = make_stream(CU_STREAM_NON_BLOCKING);
        CU(c.wide ? cuStreamWaitValue64_v2(stream, at, c.asked, c.flags)
                  : cuStreamWaitValue32_v2(stream, at, static_cast<uint32_t>(c.asked), c.flags));
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
        CHECK(cuStreamQuery(stream) == (c.passes ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY));
    }
}

TEST_CASE("a batch's operations happen one after the other", "[value]") {
    make_context();
    CUstream stream = make_stream();
    const CUdeviceptr a = zeroed();
    CUstreamBatchMemOpParams operations[4] = {};
    operations[0].operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
    operations[0].writeValue.address = a, operations[0].writeValue.value = 1;
    operations[1].operation = CU_STREAM_MEM_OP_BARRIER;
    operations[2].operation = CU_STREAM_MEM_OP_WAIT_VALUE_32;
    operations[2].waitValue.address = a, operations[2].waitValue.value = 1;
    operations[3].operation = CU_STREAM_MEM_OP_WRITE_VALUE_64;
    operations[3].writeValue.address = a + 8, operations[3].writeValue.value64 = uint64_t{1} << 50;
    CU(cuStreamBatchMemOp_v2(stream, 4, operations, 0));
    CU(cuStreamSynchronize(stream));
    CHECK((word<uint32_t>(a) == 1 && word<uint64_t>(a + 8) == uint64_t{1} << 50));
    CU(cuStreamBatchMemOp(stream, 1, operations, 0));
    operations[3].writeValue.address = a + 4;
    CU_IS(cuStreamBatchMemOp_v2(stream, 4, operations, 0), CUDA_ERROR_INVALID_VALUE);
    CU_IS(cuStreamBatchMemOp_v2(stream, 1, nullptr, 0), CUDA_ERROR_INVALID_VALUE);
    CU_IS(cuStreamBatchMemOp_v2(stream, 1, operations, 1), CUDA_ERROR_INVALID_VALUE);
}

TEST_CASE("wrong words get their errors", "[value]") {
    make_context();
    const CUdeviceptr a = device_memory(64);
    CU_IS(cuStreamWriteValue32_v2(nullptr, a + 2, 1, 0), CUDA_ERROR_INVALID_VALUE);
    CU_IS(cuStreamWriteValue64_v2(nullptr, a + 4, 1, 0), CUDA_ERROR_INVALID_VALUE);
    CU_IS(cuStreamWriteValue32_v2(nullptr, 0, 1, 0), CUDA_ERROR_INVALID_VALUE);
    CU_IS(cuStreamWriteValue32_v2(nullptr, pageable_memory(64), 1, 0), CUDA_ERROR_INVALID_VALUE);
    CU_IS(cuStreamWriteValue32_v2(nullptr, a, 1, 2), CUDA_ERROR_INVALID_VALUE);
    CU_IS(cuStreamWaitValue32_v2(nullptr, a, 1, 4), CUDA_ERROR_INVALID_VALUE);
}

}  // namespace value_test
