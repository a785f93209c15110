// Gives functions of this library the names of the runtime API.
// EXPORT_RUNTIME(cudaMalloc, context, malloc) makes cudaMalloc a jump to malloc(), checked against the
// header's declaration, inside a boundary that first makes sure of what the call needs and remembers its
// error:
//   context   the driver is up and the thread has a current context
//   driver    the driver is up
//   nothing   the function works without a driver
// FORWARD(cudaEventQuery, cuEventQuery) needs no function: the driver takes the same arguments in the same
// order. …_STREAM also makes the _ptsz form. The parameter list is never retyped, hence the two lines of
// assembly.
#pragma once

#include <bit>
#include <type_traits>

#include "cudart/context.h"
#include "cudart/cuda_api.h"
#include "cudart/driver.h"
#include "cudart/error.h"

namespace cudart {

enum class Needs { nothing, driver, context };

template <Needs kNeeds>
cudaError_t prepare() {
    if constexpr (kNeeds == Needs::context) return use_context();
    if constexpr (kNeeds == Needs::driver) return start_driver();
    return cudaSuccess;
}

template <class Signature, Needs kNeeds, auto kFunction>
struct Boundary;

template <class... Arguments, Needs kNeeds, auto kFunction>
struct Boundary<cudaError_t(Arguments...), kNeeds, kFunction> {
    static cudaError_t call(Arguments... arguments) {
        const cudaError_t ready = prepare<kNeeds>();
        return remember(ready == cudaSuccess ? kFunction(arguments...) : ready);
    }
};

template <class T>
concept Complete = requires {
    sizeof(T);
};

template <class To, class From>
constexpr bool kSameLayout = [] {
    if constexpr (std::is_function_v<To> || std::is_function_v<From>) return true;
    if constexpr (Complete<To> && Complete<From>) return sizeof(To) == sizeof(From);
    return true;
}();

// One argument of the runtime as the driver wants it: the same bits under the driver's name for the type.
template <class To, class From>
To convert(From from) {
    if constexpr (std::is_class_v<From>) {
        return std::bit_cast<To>(from);
    } else if constexpr (std::is_pointer_v<From> && std::is_pointer_v<To>) {
        static_assert(kSameLayout<std::remove_pointer_t<To>, std::remove_pointer_t<From>>);
        return (To)from;
    } else {
        return (To)from;
    }
}

template <class Runtime, class Driver, std::size_t kRow>
struct Forward;

template <class... Given, class... Wanted, std::size_t kRow>
struct Forward<cudaError_t(Given...), CUresult(Wanted...), kRow> {
    static cudaError_t call(Given... arguments) {
        return Entry<CUresult(Wanted...), kRow>{}(convert<Wanted>(arguments)...);
    }
};

}  // namespace cudart

#if defined(__x86_64__)
#define CUDART_JUMP(name) "endbr64\njmp *standin_" name "(%rip)\n"
#elif defined(__aarch64__)
#define CUDART_JUMP(name) \
    "bti c\nadrp x16, standin_" name "\nldr x16, [x16, :lo12:standin_" name "]\nbr x16\n"
#endif

#define CUDART_BEGIN(name) ".pushsection .text\n.globl " name "\n.type " name ", %function\n" name ":\n"
#define CUDART_END(name) ".size " name ", . - " name "\n.popsection\n"

// NAME is a jump through a hidden pointer to the function given.
#define CUDART_NAME(name, ...)                                                                         \
    extern "C" {                                                                                       \
    [[gnu::used, gnu::visibility("hidden")]] constinit decltype(&::name) standin_##name = __VA_ARGS__; \
    }                                                                                                  \
    asm(CUDART_BEGIN(#name) ".cfi_startproc\n" CUDART_JUMP(#name) ".cfi_endproc\n" CUDART_END(#name));

#define EXPORT_RUNTIME(name, needs, ...) \
    CUDART_NAME(name, ::cudart::Boundary<decltype(::name), ::cudart::Needs::needs, __VA_ARGS__>::call)

#define FORWARD_NEEDS(name, needs, driver_name) \
    EXPORT_RUNTIME(                             \
        name, needs,                            \
        ::cudart::Forward<decltype(::name), decltype(::driver_name), ::cudart::row_of(#driver_name)>::call)

#define FORWARD(name, driver_name) FORWARD_NEEDS(name, context, driver_name)

#define FORWARD_STREAM(name, driver_name) \
    FORWARD(name, driver_name)            \
    FORWARD(name##_ptsz, driver_name##_ptsz)

#define EXPORT_STREAM(name, function)                          \
    EXPORT_RUNTIME(name, context, function<::cudart::kLegacy>) \
    EXPORT_RUNTIME(name##_ptsz, context, function<::cudart::kPerThread>)

#define EXPORT_DEFAULT_STREAM(name, function)                  \
    EXPORT_RUNTIME(name, context, function<::cudart::kLegacy>) \
    EXPORT_RUNTIME(name##_ptds, context, function<::cudart::kPerThread>)
