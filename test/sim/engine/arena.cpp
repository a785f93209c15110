#include "arena.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>

namespace gpusim {
namespace {

constexpr size_t kPage = 4096;
uint64_t last_id = 0;  // under the engine's lock, like all of this

void* map(int file, size_t bytes) {
    return mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file, 0);
}

// Below 4 GiB: the first place that is free.
void* map_low(int file, size_t bytes) {
    for (uintptr_t at = 1u << 28; at + bytes < uintptr_t{1} << 32; at += 1u << 24) {
        void* const got = mmap(reinterpret_cast<void*>(at), bytes, PROT_READ | PROT_WRITE,
                               MAP_SHARED | MAP_NORESERVE | MAP_FIXED_NOREPLACE, file, 0);
        if (got != MAP_FAILED) return got;
    }
    return MAP_FAILED;
}

}  // namespace

Arena::Arena(size_t capacity_bytes, Low low) : capacity_(capacity_bytes) {
    file_ = memfd_create("gpusim-device-memory", MFD_CLOEXEC);
    if (file_ < 0 || ftruncate(file_, static_cast<off_t>(capacity_)) != 0) {
        std::perror("gpusim: device memory");
        std::_Exit(2);
    }
    void* const at = low == Low::yes ? map_low(file_, capacity_) : map(file_, capacity_);
    if (at == MAP_FAILED) {
        std::perror("gpusim: device memory");
        std::_Exit(2);
    }
    start_ = reinterpret_cast<uintptr_t>(at);
    holes_[start_] = capacity_;
}

Arena::~Arena() {
    munmap(reinterpret_cast<void*>(start_), capacity_);
    close(file_);
}

uintptr_t Arena::take_hole(size_t size_bytes) {
    for (auto hole = holes_.begin(); hole != holes_.end(); ++hole) {
        if (hole->second < size_bytes) continue;
        const uintptr_t base = hole->first;
        const size_t rest = hole->second - size_bytes;
        holes_.erase(hole);
        if (rest > 0) holes_[base + size_bytes] = rest;
        return base;
    }
    return 0;
}

uintptr_t Arena::allocate(size_t size_bytes, uint32_t flags) {
    const uintptr_t base = take_hole(allocation_bytes(size_bytes));
    if (base != 0) blocks_[base] = Block{base, size_bytes, flags, ++last_id};
    return base;
}

bool Arena::free(uintptr_t base) {
    const auto block = blocks_.find(base);
    if (block == blocks_.end()) return false;
    size_t size = allocation_bytes(block->second.size_bytes);
    blocks_.erase(block);
    const uintptr_t first_page = (base - start_ + kPage - 1) / kPage * kPage;
    const uintptr_t last_page = (base - start_ + size) / kPage * kPage;
    if (last_page > first_page)
        fallocate(file_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(first_page),
                  static_cast<off_t>(last_page - first_page));
    auto next = holes_.lower_bound(base);
    if (next != holes_.end() && next->first == base + size) {
        size += next->second;
        next = holes_.erase(next);
    }
    if (next != holes_.begin()) {
        const auto before = std::prev(next);
        if (before->first + before->second == base) {
            before->second += size;
            return true;
        }
    }
    holes_[base] = size;
    return true;
}

const Block* Arena::find(uintptr_t address) const {
    auto after = blocks_.upper_bound(address);
    if (after == blocks_.begin()) return nullptr;
    const Block& block = std::prev(after)->second;
    return address - block.base < (block.size_bytes > 0 ? block.size_bytes : 1) ? &block : nullptr;
}

}  // namespace gpusim
