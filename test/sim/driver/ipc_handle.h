// What the 64 opaque bytes of an interprocess handle hold, and the way from there to the exporter's file.
#pragma once

#include <cstdint>
#include <cstring>

#include "api.h"

namespace gpusim::driver {

enum class SharedThing : uint32_t { memory = 0x6d656d31, event = 0x65766e31 };

struct IpcContent {
    SharedThing thing{};
    int32_t pid = 0;
    int32_t file = -1;  // descriptor in the exporting process
    int32_t device = 0;
    uint64_t id = 0;
    uint64_t offset = 0;
    uint64_t size_bytes = 0;
};
static_assert(sizeof(IpcContent) <= CU_IPC_HANDLE_SIZE);

template <class Handle>
void write_handle(Handle& handle, const IpcContent& content) {
    handle = {};
    std::memcpy(handle.reserved, &content, sizeof content);
}

template <class Handle>
IpcContent read_handle(const Handle& handle) {
    IpcContent content;
    std::memcpy(&content, handle.reserved, sizeof content);
    return content;
}

// The exporter's file opened here; -1: it is gone.
int open_exported(const IpcContent& content);

}  // namespace gpusim::driver
