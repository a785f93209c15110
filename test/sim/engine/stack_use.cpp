#include "stack_use.h"

#include <alloca.h>

#include <cstddef>

#include "knobs.h"

namespace gpusim {
namespace {

constexpr size_t kStackPage = 4096;

// Never part of the caller: what alloca takes is given back when it returns. From above, as a stack grows.
[[gnu::noinline]] void touch(size_t bytes) {
    auto* const lowest = static_cast<volatile char*>(alloca(bytes));
    for (size_t at = bytes; at >= kStackPage; at -= kStackPage) lowest[at - kStackPage] = 0;
}

}  // namespace

void use_stack() {
    if (knobs().stack_kb > 0) touch(static_cast<size_t>(knobs().stack_kb) * 1024);
}

}  // namespace gpusim
