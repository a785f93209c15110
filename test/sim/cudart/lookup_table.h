// The tables of driver exports and of recorded look-ups as constants, and how one is found from the other.
// row_of("cuMemcpyHtoD_v2_ptds") is the look-up that gives this export: base name, version and flags of the
// export, as the runtime asked for them. A name that the runtime never asks for does not compile.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

namespace cudart {

struct Lookup {
    const char* name;
    int version;
    unsigned long long flags;
};

inline constexpr Lookup kLookups[] = {
#define LOOKUP(name, version, flags) {#name, version, flags},
#include "cudart/lookups.def"
#undef LOOKUP
};
inline constexpr std::size_t kLookupCount = std::size(kLookups);

struct DriverExport {
    std::string_view name, base, per_thread;
    int version;
};

inline constexpr DriverExport kDriverExports[] = {
#define EXPORT(name, implementation, base, version, per_thread) {#name, #base, #per_thread, version},
#include "exports.def"
#undef EXPORT
};

consteval DriverExport driver_export(std::string_view name) {
    for (const DriverExport& row : kDriverExports) {
        if (row.name == name) return row;
    }
    throw "no such export of the driver";
}

consteval std::size_t row_of(std::string_view name) {
    const DriverExport wanted = driver_export(name);
    const unsigned long long flags = wanted.per_thread == "none" ? 0 : 2;
    for (std::size_t row = 0; row < kLookupCount; ++row) {
        const Lookup& lookup = kLookups[row];
        if (lookup.name == wanted.base && lookup.version == wanted.version && lookup.flags == flags)
            return row;
    }
    throw "the runtime does not look this export up";
}

}  // namespace cudart
