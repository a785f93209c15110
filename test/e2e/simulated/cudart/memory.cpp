// Copies and fills of every form move the bytes they should, and memory is what the runtime says it is.
// Built twice: with and without the per-thread default stream.
#include <cstring>
#include <numeric>
#include <vector>

#include "check.h"

#define IMAGE_CODE                                    \
    ".version 8.0\n.target sm_90\n.address_size 64\n" \
    ".visible .global .align 4 .b8 table[16];\n"      \
    ".visible .entry nothing() { ret; }\n"
#include "image.h"

VARIABLE(int, table, [4])

namespace {

using Bytes = std::vector<unsigned char>;

Bytes counting(std::size_t size) {
    Bytes bytes(size);
    std::iota(bytes.begin(), bytes.end(), static_cast<unsigned char>(1));
    return bytes;
}

char* device_bytes(std::size_t size) {
    void* pointer = nullptr;
    OK(cudaMalloc(&pointer, size));
    return static_cast<char*>(pointer);
}

void copies_of_every_direction() {
    const Bytes sent = counting(1000);
    Bytes back(1000), beside(1000);
    char *here = device_bytes(1000), *there = device_bytes(1000);
    OK(cudaMemcpy(here, sent.data(), 1000, cudaMemcpyHostToDevice));
    OK(cudaMemcpy(there, here, 1000, cudaMemcpyDeviceToDevice));
    OK(cudaMemcpy(back.data(), there, 1000, cudaMemcpyDeviceToHost));
    CHECK(back == sent);
    OK(cudaMemcpy(beside.data(), sent.data(), 1000, cudaMemcpyHostToHost));
    CHECK(beside == sent);
    OK(cudaMemset(here, 0, 1000));
    OK(cudaMemcpy(here, sent.data() + 1, 999, cudaMemcpyDefault));
    OK(cudaMemcpy(back.data(), here, 1000, cudaMemcpyDefault));
    CHECK(std::memcmp(back.data(), sent.data() + 1, 999) == 0 && back[999] == 0);
    OK(cudaMemcpy(here, sent.data(), 0, cudaMemcpyHostToDevice));
    OK(cudaFree(here));
    OK(cudaFree(there));
}

void copies_on_a_stream(cudaStream_t stream) {
    const Bytes sent = counting(512);
    char *pinned = nullptr, *device = device_bytes(512);
    OK(cudaMallocHost(reinterpret_cast<void**>(&pinned), 512));
    std::memcpy(pinned, sent.data(), 512);
    OK(cudaMemcpyAsync(device, pinned, 512, cudaMemcpyHostToDevice, stream));
    OK(cudaStreamSynchronize(stream));
    std::memset(pinned, 0, 512);
    OK(cudaMemcpyAsync(device + 256, device, 256, cudaMemcpyDeviceToDevice, stream));
    OK(cudaMemsetAsync(device, 7, 16, stream));
    OK(cudaMemcpyAsync(pinned, device, 512, cudaMemcpyDeviceToHost, stream));
    OK(cudaStreamSynchronize(stream));
    CHECK(pinned[0] == 7 && pinned[15] == 7);
    CHECK(std::memcmp(pinned + 16, sent.data() + 16, 240) == 0);
    CHECK(std::memcmp(pinned + 256, sent.data(), 256) == 0);
    OK(cudaFreeHost(pinned));
    OK(cudaFree(device));
}

// A window of 6 x 3 bytes out of rows of 10, into rows of the device's own pitch, and back.
void rows_with_a_pitch() {
    const Bytes sent = counting(30);
    Bytes back(30, 0);
    void* device = nullptr;
    std::size_t pitch = 0;
    OK(cudaMallocPitch(&device, &pitch, 6, 3));
    CHECK(pitch >= 6);
    OK(cudaMemset2D(device, pitch, 9, 6, 3));
    OK(cudaMemcpy2D(device, pitch, sent.data(), 10, 6, 2, cudaMemcpyHostToDevice));
    OK(cudaMemcpy2D(back.data(), 10, device, pitch, 6, 3, cudaMemcpyDeviceToHost));
    for (std::size_t x = 0; x < 10; ++x) {
        CHECK(back[x] == (x < 6 ? sent[x] : 0));
        CHECK(back[10 + x] == (x < 6 ? sent[10 + x] : 0));
        CHECK(back[20 + x] == (x < 6 ? 9 : 0));
    }
    IS(cudaErrorInvalidPitchValue, cudaMemcpy2D(device, pitch, sent.data(), 5, 6, 1, cudaMemcpyHostToDevice));
    OK(cudaFree(device));
}

void rows_on_a_stream(cudaStream_t stream) {
    const Bytes sent = counting(12);
    Bytes back(12, 0);
    char* device = device_bytes(64);
    OK(cudaMemset2DAsync(device, 16, 8, 4, 3, stream));
    OK(cudaMemcpy2DAsync(device, 16, sent.data(), 6, 4, 2, cudaMemcpyHostToDevice, stream));
    OK(cudaMemcpy2DAsync(back.data(), 4, device, 16, 4, 3, cudaMemcpyDeviceToHost, stream));
    OK(cudaStreamSynchronize(stream));
    CHECK((back == Bytes{1, 2, 3, 4, 7, 8, 9, 10, 8, 8, 8, 8}));
    OK(cudaFree(device));
}

// A cube of 4 x 3 x 2 counted through goes to the device, its last column is filled, and its corner of 2 x 2
// x 2 from (2, 1, 0) comes back, one byte into each row of three.
void a_corner_of_a_cube(cudaStream_t stream) {
    Bytes sent = counting(24), corner(12, 0);
    cudaPitchedPtr cube, last_column;
    OK(cudaMalloc3D(&cube, cudaExtent{4, 3, 2}));
    CHECK(cube.pitch >= 4 && cube.xsize == 4 && cube.ysize == 3);
    cudaMemcpy3DParms in{};
    in.srcPtr = {sent.data(), 4, 4, 3};
    in.dstPtr = cube;
    in.extent = {4, 3, 2};
    in.kind = cudaMemcpyHostToDevice;
    OK(cudaMemcpy3D(&in));
    last_column = cube;
    last_column.ptr = static_cast<char*>(cube.ptr) + 3;
    OK(cudaMemset3DAsync(last_column, 99, cudaExtent{1, 3, 2}, stream));
    cudaMemcpy3DParms out{};
    out.srcPtr = cube;
    out.srcPos = {2, 1, 0};
    out.dstPtr = {corner.data(), 3, 3, 2};
    out.dstPos = {1, 0, 0};
    out.extent = {2, 2, 2};
    out.kind = cudaMemcpyDeviceToHost;
    OK(cudaMemcpy3DAsync(&out, stream));
    OK(cudaStreamSynchronize(stream));
    CHECK((corner == Bytes{0, 7, 99, 0, 11, 99, 0, 19, 99, 0, 23, 99}));
    OK(cudaFree(cube.ptr));
}

void variables_by_their_symbol() {
    const int sent[4] = {10, 20, 30, 40};
    int back[4] = {};
    std::size_t size = 0;
    void* address = nullptr;
    OK(cudaGetSymbolSize(&size, table));
    CHECK(size == sizeof table);
    OK(cudaGetSymbolAddress(&address, table));
    OK(cudaMemcpyToSymbol(table, sent, sizeof sent, 0, cudaMemcpyHostToDevice));
    OK(cudaMemcpyToSymbolAsync(table, sent + 3, 4, 8, cudaMemcpyHostToDevice, nullptr));
    OK(cudaMemcpyFromSymbolAsync(back, table, 4, 8, cudaMemcpyDeviceToHost, nullptr));
    OK(cudaDeviceSynchronize());
    CHECK(back[0] == 40);
    OK(cudaMemcpyToSymbol(table, sent + 2, 4, 8, cudaMemcpyHostToDevice));
    OK(cudaMemcpyFromSymbol(back, table, 8, 8, cudaMemcpyDeviceToHost));
    CHECK(back[0] == 30 && back[1] == 40 && back[2] == 0);
    OK(cudaMemcpy(back, address, sizeof back, cudaMemcpyDeviceToHost));
    CHECK(std::memcmp(back, sent, sizeof back) == 0);
    IS(cudaErrorInvalidValue, cudaMemcpyToSymbol(table, sent, 16, 4, cudaMemcpyHostToDevice));
    IS(cudaErrorInvalidSymbol, cudaMemcpyToSymbol(&sent, sent, 4, 0, cudaMemcpyHostToDevice));
}

cudaPointerAttributes attributes_of(const void* pointer) {
    cudaPointerAttributes attributes;
    OK(cudaPointerGetAttributes(&attributes, pointer));
    return attributes;
}

void what_a_pointer_is() {
    char *device = device_bytes(100), *pinned = nullptr, stack = 0;
    OK(cudaHostAlloc(reinterpret_cast<void**>(&pinned), 100, cudaHostAllocMapped));
    CHECK(attributes_of(device).type == cudaMemoryTypeDevice);
    CHECK(attributes_of(device).device == 0);
    CHECK(attributes_of(device + 50).devicePointer == device + 50);
    CHECK(attributes_of(pinned).type == cudaMemoryTypeHost);
    CHECK(attributes_of(pinned).hostPointer == pinned);
    CHECK(attributes_of(&stack).type == cudaMemoryTypeUnregistered);
    CHECK(attributes_of(&stack).hostPointer == &stack);
    void* mapped = nullptr;
    unsigned flags = 0;
    OK(cudaHostGetDevicePointer(&mapped, pinned, 0));
    CHECK(mapped != nullptr);
    OK(cudaHostGetFlags(&flags, pinned));
    CHECK(flags & cudaHostAllocMapped);
    OK(cudaFreeHost(pinned));
    OK(cudaFree(device));
}

void registered_memory() {
    Bytes bytes(8192);
    OK(cudaHostRegister(bytes.data(), bytes.size(), cudaHostRegisterDefault));
    CHECK(attributes_of(bytes.data()).type == cudaMemoryTypeHost);
    OK(cudaHostUnregister(bytes.data()));
    CHECK(attributes_of(bytes.data()).type == cudaMemoryTypeUnregistered);
}

void managed_memory() {
    int* shared = nullptr;
    OK(cudaMallocManaged(reinterpret_cast<void**>(&shared), sizeof *shared, cudaMemAttachGlobal));
    CHECK(attributes_of(shared).type == cudaMemoryTypeManaged);
    *shared = 42;
    int back = 0;
    OK(cudaMemcpy(&back, shared, sizeof back, cudaMemcpyDefault));
    CHECK(back == 42);
    OK(cudaFree(shared));
}

void how_much_there_is() {
    constexpr std::size_t kSize = 64 << 20;
    std::size_t free_before = 0, free_now = 0, total = 0;
    OK(cudaMemGetInfo(&free_before, &total));
    CHECK(total == std::size_t{16} << 30 && free_before <= total);
    char* device = device_bytes(kSize);
    OK(cudaMemGetInfo(&free_now, &total));
    CHECK(free_before - free_now >= kSize);
    OK(cudaFree(device));
    OK(cudaMemGetInfo(&free_now, &total));
    CHECK(free_now == free_before);
}

void nothing_is_a_size() {
    void* pointer = &pointer;
    OK(cudaMalloc(&pointer, 0));
    CHECK(pointer == nullptr);
    OK(cudaFree(nullptr));
    OK(cudaFreeHost(nullptr));
    IS(cudaErrorInvalidValue, cudaMalloc(nullptr, 10));
}

void memory_in_stream_order(cudaStream_t stream) {
    cudaMemPool_t pool = nullptr;
    OK(cudaDeviceGetDefaultMemPool(&pool, 0));
    unsigned long long keep = 1 << 20, kept = 0;
    OK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &keep));
    OK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &kept));
    CHECK(kept == keep);
    void* pointer = nullptr;
    int back = 0;
    OK(cudaMallocAsync(&pointer, 4096, stream));
    OK(cudaMemsetAsync(pointer, 1, 4096, stream));
    OK(cudaMemcpyAsync(&back, pointer, sizeof back, cudaMemcpyDeviceToHost, stream));
    OK(cudaFreeAsync(pointer, stream));
    OK(cudaStreamSynchronize(stream));
    CHECK(back == 0x01010101);
}

void a_pool_of_ones_own(cudaStream_t stream) {
    cudaMemPoolProps properties{};
    properties.allocType = cudaMemAllocationTypePinned;
    properties.location.type = cudaMemLocationTypeDevice;
    cudaMemPool_t pool = nullptr;
    void* pointer = nullptr;
    OK(cudaMemPoolCreate(&pool, &properties));
    OK(cudaMallocFromPoolAsync(&pointer, 4096, pool, stream));
    OK(cudaFreeAsync(pointer, stream));
    OK(cudaStreamSynchronize(stream));
    OK(cudaMemPoolTrimTo(pool, 0));
    OK(cudaMemPoolDestroy(pool));
}

}  // namespace

int main() {
    cudaStream_t stream = nullptr;
    OK(cudaStreamCreate(&stream));
    copies_of_every_direction();
    copies_on_a_stream(stream);
    copies_on_a_stream(nullptr);
    rows_with_a_pitch();
    rows_on_a_stream(stream);
    a_corner_of_a_cube(stream);
    variables_by_their_symbol();
    what_a_pointer_is();
    registered_memory();
    managed_memory();
    how_much_there_is();
    nothing_is_a_size();
    memory_in_stream_order(stream);
    a_pool_of_ones_own(stream);
    OK(cudaStreamDestroy(stream));
}
