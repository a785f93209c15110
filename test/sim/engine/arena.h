// One device's memory: a sparse mapping in which real bytes live, and who holds which part of it. Addresses
// are as a program sees them (512-byte aligned, as CUDA promises 256). Not thread-safe: the engine's lock is
// held.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

namespace gpusim {

struct Block {
    uintptr_t base = 0;
    size_t size_bytes = 0;  // as asked for
    uint32_t flags = 0;     // the owner's: what kind of allocation this is
    uint64_t id = 0;        // never used twice
};

class Arena {
  public:
    enum class Low { no, yes };  // yes: below 4 GiB, for the 32-bit addresses of the first API version
    explicit Arena(size_t capacity_bytes, Low low = Low::no);
    ~Arena();
    Arena(const Arena&) = delete;
    Arena& operator=(const Arena&) = delete;

    // 0: no stretch is large enough.
    uintptr_t allocate(size_t size_bytes, uint32_t flags);
    // The block that starts at `base` ends; its pages go back to the machine. False: none starts there.
    bool free(uintptr_t base);
    // The block in which `address` lies, or null.
    const Block* find(uintptr_t address) const;
    bool contains(uintptr_t address) const { return address - start_ < capacity_; }

    // For other processes of the box: the file behind the mapping and where an address lies in it.
    int file() const { return file_; }
    size_t offset(uintptr_t address) const { return address - start_; }

  private:
    uintptr_t take_hole(size_t size_bytes);

    int file_ = -1;
    uintptr_t start_ = 0;
    size_t capacity_ = 0;
    std::map<uintptr_t, Block> blocks_;
    std::map<uintptr_t, size_t> holes_;
};

// What an allocation really takes: requests are rounded up to this.
constexpr size_t kAllocationGrain = 512;
constexpr size_t allocation_bytes(size_t asked) {
    return asked == 0 ? kAllocationGrain
                      : (asked + kAllocationGrain - 1) / kAllocationGrain * kAllocationGrain;
}

}  // namespace gpusim
