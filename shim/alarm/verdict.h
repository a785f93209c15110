// What the alarm says: one line for people, one JSON object for the command. Pure; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "stuck_thread.h"

namespace gpushim::shim {

struct Verdict {
    // Whose it is; -1 and empty: not known.
    int32_t pid;
    int64_t rank;
    std::string_view host, job, trace;
    int64_t real_ns;  // when it was said
    int64_t for_ns, limit_ns, usual_ns;
    std::vector<StuckThread> threads;
};

std::string line_of(const Verdict& verdict);
std::string json_of(const Verdict& verdict);
// As hang_thread has them.
std::string python_text(const std::vector<PythonLine>& lines);
std::string native_text(const StuckThread& thread);

}  // namespace gpushim::shim
