// How often a test does again what it has done. A sanitizer says of a line what it has to say the first time,
// and makes it ten times as slow.
#pragma once

#include "shim/base/sanitized.h"

template <class Number>
constexpr Number repeats(Number count, Number sanitized) {
    return UNDER_ADDRESS_SANITIZER || UNDER_THREAD_SANITIZER ? sanitized : count;
}
