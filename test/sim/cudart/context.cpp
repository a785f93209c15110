#include "cudart/context.h"

#include <atomic>
#include <map>
#include <mutex>

#include "cudart/driver.h"
#include "cudart/own_table.h"

namespace cudart {
namespace {

struct Primaries {
    std::mutex mutex;
    std::map<int, CUcontext> retained;
};

// Never destroyed: the program may call from its own exit handlers.
Primaries& primaries() {
    static auto& all = *new Primaries;
    return all;
}

std::atomic<unsigned> resets{1};  // a reset takes the context from under every thread

thread_local int device_of_thread = 0;
thread_local unsigned bound_at_reset = 0;  // value of resets when this thread was given its context

cudaError_t retain(int device, CUcontext& context, bool& is_new) {
    const std::lock_guard lock(primaries().mutex);
    const auto [entry, added] = primaries().retained.try_emplace(device, nullptr);
    is_new = added;
    cudaError_t error = cudaSuccess;
    if (is_new) error = DRIVER(cuDevicePrimaryCtxRetain)(&entry->second, device);
    context = entry->second;
    if (error != cudaSuccess) primaries().retained.erase(entry);
    return error;
}

// In a way that nobody sees who stands between runtime and driver.
cudaError_t use_unseen(CUcontext context) {
    const void* table = nullptr;
    if (const cudaError_t error = DRIVER(cuGetExportTable)(&table, &kOwnTable); error != cudaSuccess)
        return error;
    return to_runtime(static_cast<const OwnTable*>(table)->use_context(context));
}

// As NVIDIA's runtime (13.0, driver 580) does: the thread that retains a device's context gets it in a way of
// the driver's own, all others by cuCtxSetCurrent.
cudaError_t bind_primary(int device) {
    const unsigned now = resets.load();
    CUcontext context = nullptr;
    bool is_new = false;
    cudaError_t error = retain(device, context, is_new);
    if (error == cudaSuccess) error = is_new ? use_unseen(context) : DRIVER(cuCtxSetCurrent)(context);
    if (error == cudaSuccess) bound_at_reset = now;
    return error;
}

}  // namespace

cudaError_t primary_context(int device, CUcontext& context) {
    bool is_new = false;
    return retain(device, context, is_new);
}

cudaError_t use_context() {
    if (bound_at_reset == resets.load(std::memory_order_relaxed)) return cudaSuccess;
    if (const cudaError_t error = start_driver(); error != cudaSuccess) return error;
    CUcontext current = nullptr;
    const bool has_own = bound_at_reset == 0 && DRIVER(cuCtxGetCurrent)(&current) == cudaSuccess && current;
    if (!has_own) return bind_primary(device_of_thread);
    bound_at_reset = resets.load();
    return DRIVER(cuCtxGetDevice)(&device_of_thread);
}

cudaError_t choose_device(int device) {
    CUdevice handle = 0;
    cudaError_t error = DRIVER(cuDeviceGet)(&handle, device);
    if (error == cudaSuccess) error = bind_primary(handle);
    if (error == cudaSuccess) device_of_thread = device;
    return error;
}

int chosen_device() { return device_of_thread; }

// What this library retained stays so: the device makes the context anew when the next thread asks for it.
cudaError_t reset_device() {
    const std::lock_guard lock(primaries().mutex);
    primaries().retained.erase(device_of_thread);
    ++resets;
    return DRIVER(cuDevicePrimaryCtxReset)(device_of_thread);
}

}  // namespace cudart
