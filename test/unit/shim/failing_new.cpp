#include "failing_new.h"

#include <cstdlib>
#include <new>

namespace {

thread_local uint64_t countdown = 0;  // 0: none is to fail

}  // namespace

FailingNew::FailingNew(uint64_t nth) { countdown = nth; }
FailingNew::~FailingNew() { countdown = 0; }
bool FailingNew::has_failed() const { return countdown == 0; }

void* operator new(size_t size) {
    if (countdown != 0 && --countdown == 0) throw std::bad_alloc();
    if (void* const memory = std::malloc(size)) return memory;
    throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }
