// The exported names. Each is one jump through a slot that holds an Entry: it refuses calls before nvmlInit
// and those that nothing here implements, so that a name needs no line of its own.
#include <string_view>
#include <type_traits>

#include "api.h"
#include "device.h"

namespace gpusim::nvml {
namespace {

// What answers without nvmlInit.
constexpr std::string_view kAtAnyTime[] = {
    "nvmlInit",
    "nvmlInit_v2",
    "nvmlInitWithFlags",
    "nvmlErrorString",
    "nvmlSystemGetCudaDriverVersion",
    "nvmlSystemGetCudaDriverVersion_v2",
};

constexpr bool at_any_time(std::string_view name) {
    for (const auto each : kAtAnyTime)
        if (each == name) return true;
    return false;
}

template <class Function, Function* implementation, bool always>
struct Entry;

template <class Result, class... Arguments, Result (*implementation)(Arguments...), bool always>
struct Entry<Result(Arguments...), implementation, always> {
    static Result call(Arguments... arguments) {
        if constexpr (always) {
            return implementation(arguments...);
        } else {
            if (!initialised()) return NVML_ERROR_UNINITIALIZED;
            if (implementation == nullptr) return NVML_ERROR_NOT_SUPPORTED;
            return implementation(arguments...);
        }
    }
};

}  // namespace
}  // namespace gpusim::nvml

// sim_X is weak: null where no file defines it.
#define EXPORT(name)                                                                               \
    extern "C" {                                                                                   \
    __attribute__((weak)) decltype(::name) sim_##name;                                             \
    extern decltype(::name)* const sim_slot_##name;                                                \
    constinit decltype(::name)* const sim_slot_##name =                                            \
        gpusim::nvml::Entry<decltype(::name), sim_##name, gpusim::nvml::at_any_time(#name)>::call; \
    }                                                                                              \
    asm(".pushsection .text\n.globl " #name "\n.type " #name ", @function\n" #name                 \
        ":\n\tjmp *sim_slot_" #name "(%rip)\n.size " #name ", . - " #name "\n.popsection");
#include "exports.def"
#undef EXPORT
