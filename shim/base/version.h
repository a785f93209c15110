// The version of all of gpushim: of the library, the analyzer and the packages. A trace and a run say by
// which they were made.
#pragma once

namespace gpushim {

constexpr char kVersion[] = "0.9.0";

}  // namespace gpushim
