#include "unknown_abi.h"

#include "../text/units.h"

namespace gpushim::analysis {

std::optional<int64_t> unknown_abi_of(const Database& trace) {
    Query count = trace.prepare("SELECT value FROM meta WHERE key = 'unknown_abi'");
    return count.step() ? count.maybe(0) : std::nullopt;
}

std::string unknown_abi_text(int64_t calls) {
    return "not seen: what the program did through " + count_text(calls) +
           (calls == 1 ? " call that was" : " calls that were") +
           " requested for a version of CUDA that is newer than this gpushim knows";
}

}  // namespace gpushim::analysis
