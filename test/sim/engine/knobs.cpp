#include "knobs.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <initializer_list>

#include "box_state.h"

namespace gpusim {
namespace {

[[noreturn]] void refuse(const char* variable, const char* value) {
    std::fprintf(stderr, "gpusim: %s=%s cannot be understood; see test/sim/README.md\n", variable, value);
    std::_Exit(2);
}

void read(const char* variable, knob::text& value) {
    if (const char* given = std::getenv(variable)) value = given;
}

void read(const char* variable, knob::count& value) {
    const char* given = std::getenv(variable);
    if (given == nullptr || *given == '\0') return;
    char* end = nullptr;
    value = std::strtoll(given, &end, 10);
    if (*end != '\0' || value < 0) refuse(variable, given);
}

void read(const char* variable, knob::real& value) {
    const char* given = std::getenv(variable);
    if (given == nullptr || *given == '\0') return;
    char* end = nullptr;
    value = std::strtod(given, &end);
    if (*end != '\0') refuse(variable, given);
}

Knobs read_environment() {
    Knobs result;
#define KNOB(kind, member, variable, standard) read(#variable, result.member);
#include "knobs.def"
#undef KNOB
    if (result.devices > kMaxDevices) refuse("GPUSIM_DEVICES", std::to_string(result.devices).c_str());
    if (result.clock != "real" && result.clock != "stepped") refuse("GPUSIM_CLOCK", result.clock.c_str());
    if (result.exit_order != "first" && result.exit_order != "last")
        refuse("GPUSIM_EXIT", result.exit_order.c_str());
    return result;
}

}  // namespace

const Knobs& knobs() {
    static const Knobs* const read_once = new Knobs(read_environment());  // outlives every exit handler
    return *read_once;
}

int environment_rank() {
    for (const char* variable : {"RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID"}) {
        const char* value = std::getenv(variable);
        if (value != nullptr && *value != '\0') return std::atoi(value);
    }
    return -1;
}

std::string expand_pattern(const std::string& pattern) {
    std::string result;
    for (size_t i = 0; i < pattern.size(); ++i) {
        const char next = i + 1 < pattern.size() ? pattern[i + 1] : '\0';
        if (pattern[i] != '%' || (next != 'p' && next != 'r' && next != '%')) {
            result += pattern[i];
            continue;
        }
        const int rank = environment_rank();
        if (next == '%') result += '%';
        if (next == 'p') result += std::to_string(getpid());
        if (next == 'r') result += rank < 0 ? "x" : std::to_string(rank);
        ++i;
    }
    return result;
}

}  // namespace gpusim
