// Copies of every form, brought into one: rows and planes between two places. When a call returns is the rule
// of the driver API's page on synchronisation behaviour; "over" means that the bytes are in the target:
//
//   from      to        synchronous form                          Async form
//   pageable  device    stream's past over, then: up to 64 KiB    up to 64 KiB staged, larger over
//                       staged, larger over
//   pinned    device    over                                      at once
//   device    pageable  over                                      over
//   device    pinned    over                                      at once
//   device    device    at once (same or another device)          at once
//   host      host      over                                      over
//
// Staged: the source has been read during the call and may be changed; the copy itself is still to come. A
// GPU returns from larger pageable copies once the last part is staged; the box when the copy is over.
// Managed memory counts as memory of the device it was allocated on.
#pragma once

#include "memory.h"
#include "work.h"

namespace gpusim::driver {

enum class Direction { h2d, d2h, d2d, p2p, h2h };

struct CopySide {
    MemoryKind kind = MemoryKind::pageable;
    int device = 0;
    uintptr_t first = 0;  // address of the first byte
    size_t pitch = 0;
    size_t plane_bytes = 0;
    bool sync_memops = false;
    bool on_host() const { return kind == MemoryKind::pageable || kind == MemoryKind::pinned; }
};

struct Copy {
    CopySide from, to;
    size_t width = 0, height = 0, depth = 0;

    size_t bytes() const { return width * height * depth; }
    Direction direction() const;
    bool with_pageable() const;
    void move() const;
};

// What a shape means now: its addresses, all checked against the allocations they lie in.
CUresult resolve(const CUDA_MEMCPY3D_PEER& shape, Copy& result);

enum class CopyForm { synchronous, asynchronous, asynchronous_from_ephemeral };

// One copying call. Takes the lock.
CUresult copy(const CUDA_MEMCPY3D_PEER& shape, CopyForm form, CUstream handle = nullptr);
// The same for a call that holds the lock and knows the stream.
CUresult copy_on(Stream& stream, const CUDA_MEMCPY3D_PEER& shape, CopyForm form, engine::Lock& held);

}  // namespace gpusim::driver
