// Whether two functions are called alike: the same number of arguments, and each the same type, a pointer in
// both, or a number of one size.
#pragma once

#include <cstddef>
#include <type_traits>

template <class A>
constexpr bool is_number = std::is_integral_v<A> || std::is_enum_v<A>;

template <class A, class B>
constexpr bool passed_alike = std::is_same_v<A, B> || (std::is_pointer_v<A> && std::is_pointer_v<B>) ||
                              (is_number<A> && is_number<B> && sizeof(A) == sizeof(B));

template <class A, class B>
constexpr bool same_call = false;

template <class R, class... A, class S, class... B>
requires(sizeof...(A) ==
         sizeof...(B)) constexpr bool same_call<R (*)(A...), S (*)(B...)> = passed_alike<R, S> &&
                                                                            (passed_alike<A, B> && ...);
