// The exported names. Each is one jump through a slot that holds an Entry: it refuses calls before nvmlInit
// and those that nothing here implements, so that a name needs no line of its own.
#include <string_view>
#include <type_traits>

#include "api.h"
#include "device.h"
#include "engine/stack_use.h"

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

template <class Row, class Function>
struct Entry;

// The implementation comes as a function of the row: as a template argument, clang takes a weak name for a
// defined one.
template <class Row, class Result, class... Arguments>
struct Entry<Row, Result(Arguments...)> {
    static Result call(Arguments... arguments) {
        use_stack();
        if constexpr (Row::always) {
            return Row::implementation()(arguments...);
        } else {
            if (!initialised()) return NVML_ERROR_UNINITIALIZED;
            if (Row::implementation() == nullptr) return NVML_ERROR_NOT_SUPPORTED;
            return Row::implementation()(arguments...);
        }
    }
};

}  // namespace
}  // namespace gpusim::nvml

#if defined(__x86_64__)
#define NVML_JUMP(name) "\tjmp *sim_slot_" #name "(%rip)\n"
#elif defined(__aarch64__)
#define NVML_JUMP(name) \
    "\tadrp x16, sim_slot_" #name "\n\tldr x16, [x16, :lo12:sim_slot_" #name "]\n\tbr x16\n"
#endif

// sim_X is weak: null where no file defines it.
#define EXPORT(name)                                                                      \
    extern "C" __attribute__((weak)) decltype(::name) sim_##name;                         \
    namespace gpusim::nvml {                                                              \
    struct Row_##name {                                                                   \
        static constexpr bool always = at_any_time(#name);                                \
        static auto* implementation() { return &sim_##name; }                             \
    };                                                                                    \
    }                                                                                     \
    extern "C" {                                                                          \
    extern decltype(::name)* const sim_slot_##name __attribute__((visibility("hidden"))); \
    constinit decltype(::name)* const sim_slot_##name =                                   \
        gpusim::nvml::Entry<gpusim::nvml::Row_##name, decltype(::name)>::call;            \
    }                                                                                     \
    asm(".pushsection .text\n.globl " #name "\n.type " #name ", %function\n" #name        \
        ":\n" NVML_JUMP(name) ".size " #name ", . - " #name "\n.popsection");
#include "exports.def"
#undef EXPORT
