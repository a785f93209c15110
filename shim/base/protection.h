// Whether a protection is there. In the product each is, and nothing is compiled of asking; `make mutants`
// compiles one away (GPUSHIM_WITHOUT) to show that a test notices.
#pragma once

namespace gpushim::shim {

enum class Protection {
    none,
#define PROTECTION(name, row, what) name,
#include "protections.def"
#undef PROTECTION
};

#ifndef GPUSHIM_WITHOUT
#define GPUSHIM_WITHOUT none
#endif

// Plain `if`, never `if constexpr`: what a mutant leaves unused would be a warning.
constexpr bool kept(Protection protection) { return protection != Protection::GPUSHIM_WITHOUT; }

}  // namespace gpushim::shim
