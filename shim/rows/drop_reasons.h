// What reasons for lost events (Drop) are called, in the trace and in metrics.
#pragma once

#include <iterator>

#include "../ring/ring_format.h"

namespace gpushim::shim {

inline constexpr const char* kDropReasons[] = {"full", "no_ring", "writer_down", "reader", "disk", "size"};
static_assert(std::size(kDropReasons) == kDrops);

}  // namespace gpushim::shim
