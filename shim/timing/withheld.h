// Operations that get no events of ours, so that the program does what it does without us: which, and why,
// for the trace and the report. Any thread.
#pragma once

#include <span>

namespace gpushim::shim {

struct Withheld {
    bool (*is_so)();   // in this process, so far
    const char* call;  // what it hangs on
    const char* why;
};

std::span<const Withheld> all_withheld();

}  // namespace gpushim::shim
