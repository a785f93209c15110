#include "cupti_callbacks.h"

#include <sys/mman.h>

namespace gpushim::shim {

thread_local constinit uint32_t cupti_correlation __attribute__((tls_model("initial-exec"))) = 0;

namespace {

constexpr uint32_t kNone = 0;  // places count from 1
// Beyond it a queue is so deep that there is more to lose than to wait for.
constexpr uint32_t kMostLimited = kCuptiBuffers / 4;

struct Place {
    std::atomic<uint32_t> next;
    size_t bytes;
};

constinit Place places[kCuptiBuffers + 1] = {};
constinit uint8_t* memory = nullptr;
// Place | how often it changed << 32: a place that came back is another top.
constinit std::atomic<uint64_t> free_top = 0;
constinit std::atomic<uint32_t> completed = kNone;
constinit std::atomic<size_t> most_records = 0;
constinit std::atomic<uint32_t> lent = 0;

uint8_t* buffer_of(uint32_t place) { return memory + (place - 1) * kCuptiBufferBytes; }

uint32_t place_of(const uint8_t* buffer) {
    return static_cast<uint32_t>(static_cast<size_t>(buffer - memory) / kCuptiBufferBytes) + 1;
}

uint32_t take_free() {
    // Acquire: the place's `next`, and what its reader has done with the buffer.
    uint64_t top = free_top.load(std::memory_order_acquire);
    for (;;) {
        const auto place = static_cast<uint32_t>(top);
        if (place == kNone) return kNone;
        const uint64_t next = places[place].next.load(std::memory_order_relaxed);
        if (free_top.compare_exchange_weak(top, next | ((top >> 32) + 1) << 32, std::memory_order_acquire))
            return place;
    }
}

void put_free(const uint8_t* buffer) {
    const uint32_t place = place_of(buffer);
    uint64_t top = free_top.load(std::memory_order_relaxed);
    do places[place].next.store(static_cast<uint32_t>(top), std::memory_order_relaxed);
    // Release: we are done with it.
    while (!free_top.compare_exchange_weak(top, place | ((top >> 32) + 1) << 32, std::memory_order_release));
}

}  // namespace

void on_driver_call(void*, CUpti_CallbackDomain, CUpti_CallbackId, const void* data) {
    const auto& call = *static_cast<const CUpti_CallbackData*>(data);
    // The first: what a driver call makes the driver call itself is part of it.
    if (call.callbackSite == CUPTI_API_ENTER && cupti_correlation == 0)
        cupti_correlation = call.correlationId;
}

bool make_cupti_buffers() {
    if (memory != nullptr) return true;
    // Of what is never used no page is ever there.
    void* mapped = mmap(nullptr, kCuptiBuffers * kCuptiBufferBytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapped == MAP_FAILED) return false;
    memory = static_cast<uint8_t*>(mapped);
    for (uint32_t place = kCuptiBuffers; place != kNone; --place) put_free(buffer_of(place));
    return true;
}

CompletedBuffer take_completed() {
    // One thread takes: no place can come back meanwhile. Acquire: the records.
    uint32_t place = completed.load(std::memory_order_acquire);
    while (place != kNone &&
           !completed.compare_exchange_weak(place, places[place].next.load(std::memory_order_relaxed),
                                            std::memory_order_acquire)) {
    }
    return place == kNone ? CompletedBuffer{} : CompletedBuffer{buffer_of(place), places[place].bytes};
}

void give_back(uint8_t* buffer) {
    lent.fetch_sub(1, std::memory_order_relaxed);
    put_free(buffer);
}

void limit_records(size_t most) { most_records.store(most, std::memory_order_relaxed); }

void on_buffer_requested(uint8_t** buffer, size_t* bytes, size_t* records) {
    const uint32_t place = take_free();
    const uint32_t already = lent.fetch_add(place != kNone ? 1 : 0, std::memory_order_relaxed);
    *buffer = place != kNone ? buffer_of(place) : nullptr;
    *bytes = place != kNone ? kCuptiBufferBytes : 0;
    *records = already < kMostLimited ? most_records.load(std::memory_order_relaxed) : 0;
}

void on_buffer_completed(CUcontext, uint32_t, uint8_t* buffer, size_t, size_t valid) {
    // Another tool's, lent before our callbacks took the place of its own.
    if (memory == nullptr || buffer < memory || buffer >= memory + kCuptiBuffers * kCuptiBufferBytes) return;
    const uint32_t place = place_of(buffer);
    places[place].bytes = valid;
    uint32_t top = completed.load(std::memory_order_relaxed);
    do places[place].next.store(top, std::memory_order_relaxed);
    // Release: the records, and how many bytes.
    while (!completed.compare_exchange_weak(top, place, std::memory_order_release));
}

}  // namespace gpushim::shim
