#include "failing_new.h"

#include <cstdlib>
#include <new>

#include "shim/base/sanitized.h"

namespace {

thread_local uint64_t countdown = 0;  // 0: none is to fail

}  // namespace

FailingNew::FailingNew(uint64_t nth) { countdown = nth; }
FailingNew::~FailingNew() { countdown = 0; }
bool FailingNew::has_failed() const { return countdown == 0; }

// A sanitizer has operators of its own, and compares what allocates with what frees.
#if !UNDER_ADDRESS_SANITIZER && !UNDER_THREAD_SANITIZER
const bool FailingNew::kWorks = true;

void* operator new(size_t size) {
    if (countdown != 0 && --countdown == 0) throw std::bad_alloc();
    if (void* const memory = std::malloc(size)) return memory;
    throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }
#else
const bool FailingNew::kWorks = false;
#endif
