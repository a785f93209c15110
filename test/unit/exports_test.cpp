// The table of the driver's exports against the toolkit's declarations: that each name has the signature of
// the version it is listed under does not compile otherwise.
#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>
#include <cudaProfiler.h>
#include <cudaProfilerTypedefs.h>
#include <cudaTypedefs.h>

#include "shim/calls/newer_driver.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <iterator>
#include <set>
#include <string>
#include <string_view>
#include <type_traits>

namespace exports_test {

namespace {

// Of these the typedefs of 13.0 know nothing: they are taken as newer_driver.h declares them.
#if CUDA_VERSION < 13050
#define PFN_cuFabricCpyBatchAsync_v13050 decltype(&::cuFabricCpyBatchAsync)
#define PFN_cuFabricCpyBatchAsync_v13050_ptsz decltype(&::cuFabricCpyBatchAsync_ptsz)
#define PFN_cuGraphAddNode_v13040 decltype(&::cuGraphAddNode_v3)
#define PFN_cuGraphNodeSetParams_v13040 decltype(&::cuGraphNodeSetParams_v2)
#define PFN_cuLaunchHostFunc_v13010 decltype(&::cuLaunchHostFunc_v2)
#define PFN_cuLaunchHostFunc_v13010_ptsz decltype(&::cuLaunchHostFunc_v2_ptsz)
#define PFN_cuMemcpy3DWithAttributesAsync_v13020 decltype(&::cuMemcpy3DWithAttributesAsync)
#define PFN_cuMemcpy3DWithAttributesAsync_v13020_ptsz decltype(&::cuMemcpy3DWithAttributesAsync_ptsz)
#define PFN_cuMemcpyWithAttributesAsync_v13020 decltype(&::cuMemcpyWithAttributesAsync)
#define PFN_cuMemcpyWithAttributesAsync_v13020_ptsz decltype(&::cuMemcpyWithAttributesAsync_ptsz)
#define PFN_cuMulticastBindAddr_v13010 decltype(&::cuMulticastBindAddr_v2)
#define PFN_cuMulticastBindMem_v13010 decltype(&::cuMulticastBindMem_v2)
#define PFN_cuStreamBeginCaptureToCig_v13010 decltype(&::cuStreamBeginCaptureToCig)
#define PFN_cuStreamBeginCaptureToCig_v13010_ptsz decltype(&::cuStreamBeginCaptureToCig_ptsz)
#define PFN_cuStreamBeginRecaptureToGraph_v13030 decltype(&::cuStreamBeginRecaptureToGraph)
#define PFN_cuStreamBeginRecaptureToGraph_v13030_ptsz decltype(&::cuStreamBeginRecaptureToGraph_ptsz)
#define PFN_cuStreamEndCaptureToCig_v13010 decltype(&::cuStreamEndCaptureToCig)
#define PFN_cuStreamEndCaptureToCig_v13010_ptsz decltype(&::cuStreamEndCaptureToCig_ptsz)
#endif

// The typedef of a row, by its per-thread suffix.
#define TYPE_none(base, version) PFN_##base##_v##version
#define TYPE_ptds(base, version) PFN_##base##_v##version##_ptds
#define TYPE_ptsz(base, version) PFN_##base##_v##version##_ptsz
#define EXPORT(name, implementation, base, version, per_thread) \
    static_assert(std::is_same_v<decltype(&::name), TYPE_##per_thread(base, version)>, #name);
#include "exports.def"
#undef EXPORT

struct Row {
    std::string_view name, implementation, base, per_thread;
    int version;
};

constexpr Row kRows[] = {
#define EXPORT(name, implementation, base, version, per_thread) \
    {#name, #implementation, #base, #per_thread, version},
#include "exports.def"
#undef EXPORT
};

long count_of(std::string_view per_thread) {
    return std::count_if(std::begin(kRows), std::end(kRows),
                         [&](const Row& row) { return row.per_thread == per_thread; });
}

TEST_CASE("there are 655 exports, 84 of them _ptsz and 20 _ptds", "[exports]") {
    std::set<std::string_view> names;
    for (const Row& row : kRows) names.insert(row.name);
    CHECK(names.size() == 655);
    CHECK(std::size(kRows) == 655);
    CHECK(count_of("ptsz") == 84);
    CHECK(count_of("ptds") == 20);
}

TEST_CASE("an export is its implementation and its per-thread suffix", "[exports]") {
    for (const Row& row : kRows) {
        const std::string suffix = row.per_thread == "none" ? "" : "_" + std::string(row.per_thread);
        CHECK(row.name == std::string(row.implementation) + suffix);
        CHECK(row.implementation.rfind(row.base, 0) == 0);
    }
}

TEST_CASE("the rows of a base stand together, oldest first", "[exports]") {
    for (std::size_t i = 1; i < std::size(kRows); ++i) {
        const Row &before = kRows[i - 1], &row = kRows[i];
        INFO(row.name);
        CHECK((before.base < row.base || (before.base == row.base && before.version <= row.version)));
    }
}

TEST_CASE("a per-thread form exists only beside a plain one", "[exports]") {
    std::set<std::string_view> names;
    for (const Row& row : kRows) names.insert(row.name);
    for (const Row& row : kRows) CHECK(names.count(row.implementation) == 1);
}

}  // namespace

}  // namespace exports_test
