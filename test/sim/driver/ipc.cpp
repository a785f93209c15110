#include "ipc.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <map>
#include <string>

#include "ipc_handle.h"
#include "memory.h"
#include "work.h"

namespace gpusim::driver {
namespace {

constexpr uintptr_t kPage = 4096;

// One opened allocation. Opening the same again gives the same address.
struct Imported {
    int32_t pid = 0;
    uint64_t id = 0;
    int opened = 0;
    void* mapping = nullptr;
    size_t mapped_bytes = 0;
};

std::map<uintptr_t, Imported>& imported() {
    static auto* const made = new std::map<uintptr_t, Imported>;
    return *made;
}

// 0: that file cannot be mapped.
uintptr_t map_exported(const IpcContent& content, Imported& opened) {
    const int file = open_exported(content);
    if (file < 0) return 0;
    const uint64_t first_page = content.offset / kPage * kPage;
    opened.mapped_bytes = content.offset + content.size_bytes - first_page;
    opened.mapping = mmap(nullptr, opened.mapped_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file,
                          static_cast<off_t>(first_page));
    close(file);
    if (opened.mapping == MAP_FAILED) return 0;
    return reinterpret_cast<uintptr_t>(opened.mapping) + (content.offset - first_page);
}

CUresult import(const IpcContent& content, Context& context, CUdeviceptr* address) {
    for (auto& [base, opened] : imported())
        if (opened.pid == content.pid && opened.id == content.id) {
            ++opened.opened;
            *address = base;
            return CUDA_SUCCESS;
        }
    Imported opened{content.pid, content.id, 1, nullptr, 0};
    const uintptr_t base = map_exported(content, opened);
    if (base == 0) return CUDA_ERROR_INVALID_HANDLE;
    MemoryRange range;
    range.kind = MemoryKind::device;
    range.origin = MemoryOrigin::imported;
    range.context = &context;
    range.device = device(content.device) != nullptr ? content.device : context.device->ordinal;
    range.base = base;
    range.size_bytes = content.size_bytes;
    add_range(range);
    imported()[base] = opened;
    *address = base;
    return CUDA_SUCCESS;
}

}  // namespace

int open_exported(const IpcContent& content) {
    const std::string path = "/proc/" + std::to_string(content.pid) + "/fd/" + std::to_string(content.file);
    return open(path.c_str(), O_RDWR | O_CLOEXEC);
}

void unmap_imported(uintptr_t base) {
    const auto found = imported().find(base);
    if (found == imported().end()) return;
    munmap(found->second.mapping, found->second.mapped_bytes);
    imported().erase(found);
}

}  // namespace gpusim::driver

using namespace gpusim;
using namespace gpusim::driver;

// Any address within an allocation stands for the whole of it.
API(cuIpcGetMemHandle)(CUipcMemHandle* handle, CUdeviceptr address) {
    if (handle == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const auto held = engine::lock();
    if (current_context() == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
    const MemoryRange* range = find_range(address);
    if (range == nullptr || range->origin != MemoryOrigin::device) return CUDA_ERROR_INVALID_VALUE;
    const Arena& arena = *device(range->device)->arena;
    write_handle(*handle, {SharedThing::memory, getpid(), arena.file(), range->device, range->id,
                           arena.offset(range->base), range->size_bytes});
    return CUDA_SUCCESS;
}

API(cuIpcOpenMemHandle_v2)(CUdeviceptr* address, CUipcMemHandle handle, unsigned flags) {
    if (address == nullptr || flags != CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS) return CUDA_ERROR_INVALID_VALUE;
    const auto held = engine::lock();
    Context* context = current_context();
    const IpcContent content = read_handle(handle);
    if (context == nullptr || content.pid == getpid()) return CUDA_ERROR_INVALID_CONTEXT;
    if (content.thing != SharedThing::memory) return CUDA_ERROR_INVALID_HANDLE;
    return import(content, *context, address);
}
API(cuIpcOpenMemHandle)(CUdeviceptr* address, CUipcMemHandle handle, unsigned flags) {
    return sim_cuIpcOpenMemHandle_v2(address, handle, flags);
}

API(cuIpcCloseMemHandle)(CUdeviceptr address) {
    auto held = engine::lock();
    if (current_context() == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
    const auto found = imported().find(address);
    if (found == imported().end()) return CUDA_ERROR_INVALID_VALUE;
    if (--found->second.opened > 0) return CUDA_SUCCESS;
    wait_for_users(*find_range(address), held);
    const auto still = imported().find(address);  // another thread may have opened it again, or closed it
    if (still != imported().end() && still->second.opened == 0) release_range(address);
    return CUDA_SUCCESS;
}
