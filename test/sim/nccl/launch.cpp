#include "launch.h"

#include <algorithm>
#include <mutex>
#include <vector>

#include "arithmetic.h"
#include "driver_api.h"
#include "engine/kernel_image.h"
#include "profiler.h"

namespace gpusim::nccl {
namespace {

constexpr KernelImage make_image() {
    KernelImage image;
    image.begin = begin_kernel;
    return image;
}
constexpr KernelImage kImage = make_image();

// Loaded at the first launch, for the rest of the process.
CUlibrary library() {
    static const CUlibrary loaded = [] {
        CUlibrary made = nullptr;
        driver_api().cuLibraryLoadData(&made, &kImage, nullptr, nullptr, 0, nullptr, nullptr, 0);
        return made;
    }();
    return loaded;
}

CUfunction find_kernel(const std::string& name) {
    CUkernel kernel = nullptr;
    if (driver_api().cuLibraryGetKernel(&kernel, library(), name.c_str()) != CUDA_SUCCESS) return nullptr;
    return reinterpret_cast<CUfunction>(kernel);
}

constexpr unsigned kBlocks = 8, kThreads = 512;

CUresult launch_kernel(CUfunction function, CUstream stream, void** parameters) {
    if (driver_api().cuLaunchKernelEx == nullptr)
        return driver_api().cuLaunchKernel(function, kBlocks, 1, 1, kThreads, 1, 1, 0, stream, parameters,
                                           nullptr);
    CUlaunchConfig config{};
    config.gridDimX = kBlocks, config.gridDimY = 1, config.gridDimZ = 1;
    config.blockDimX = kThreads, config.blockDimY = 1, config.blockDimZ = 1;
    config.hStream = stream;
    return driver_api().cuLaunchKernelEx(&config, function, parameters, nullptr);
}

// What a graph holds of us is an address, and the graph does not say when it ends: such batches stay for
// ever.
void keep(const std::shared_ptr<Batch>& batch) {
    static auto* const mutex = new std::mutex;
    static auto* const kept = new std::vector<std::shared_ptr<Batch>>;
    const std::lock_guard guard(*mutex);
    kept->push_back(batch);
}

bool is_capturing(CUstream stream) {
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    driver_api().cuStreamIsCapturing(stream, &status);
    return status != CU_STREAM_CAPTURE_STATUS_NONE;
}

bool all_alike(const std::vector<Transfer>& transfers) {
    const Transfer& first = transfers.front();
    const std::string word = word_of(first.kind);
    return std::all_of(transfers.begin(), transfers.end(), [&](const Transfer& t) {
        return word == word_of(t.kind) && (!first.reduces() || (t.type == first.type && t.is_plain_sum()));
    });
}

}  // namespace

std::string kernel_name(const std::vector<Transfer>& transfers) {
    const Transfer& first = transfers.front();
    const std::string prefix = "ncclDevKernel_";
    if (!all_alike(transfers)) return prefix + "Generic";
    const std::string word = word_of(first.kind);
    if (word == "SendRecv") return prefix + word;
    return prefix + word + (first.reduces() ? std::string("_Sum_") + type_word(first.type) : "") + "_RING_LL";
}

ncclResult_t launch(std::shared_ptr<Batch> batch, cudaStream_t stream) {
    const InContext here(batch->comm->context);
    const auto on = reinterpret_cast<CUstream>(stream);
    const bool captured = is_capturing(on);
    if (captured) keep(batch);
    const CUfunction function = find_kernel(kernel_name(batch->transfers));
    const Batch* parameter = batch.get();
    void* parameters[] = {&parameter};
    // Before, where NCCL does it after: from here on the kernel may run.
    profiler::launched(*batch, captured);
    if (function != nullptr && launch_kernel(function, on, parameters) == CUDA_SUCCESS) return ncclSuccess;
    return refuse(ncclUnhandledCudaError, "the driver refused the kernel");
}

}  // namespace gpusim::nccl
