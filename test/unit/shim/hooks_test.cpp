// The hook tables as data, and the look-up in loaded objects that works before anything else does.
#include <dlfcn.h>
#include <link.h>

#include <catch2/catch.hpp>
#include <cstring>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "shim/calls/api.h"
#include "shim/calls/elf.h"
#include "shim/calls/next.h"
#include "shim/calls/resolve.h"
#include "shim/hooks/doors.h"
#include "shim/hooks/thunk.h"

namespace hooks_test {

using namespace gpushim;
using namespace gpushim::shim;

namespace {

std::string suffix(const std::string& name, size_t length) {
    return name.size() > length ? name.substr(name.size() - length) : "";
}

link_map* opened(const char* library) {
    return static_cast<link_map*>(dlopen(library, RTLD_NOW | RTLD_LOCAL));
}

}  // namespace

TEST_CASE("every row has a name of its own, found by that name", "[hooks]") {
    std::set<std::string> names;
    for (int api = 0; api < kApis; ++api) {
        CHECK(names.insert(api_traits[api].name).second);
        CHECK(hooked_name(api_traits[api].name) == api);
    }
    for (const char* strange : {"", "c", "cu", "cublasCreate", "cuInitX", "nccl", "ncclGetVersion", "printf"})
        CHECK(hooked_name(strange) == -1);
}

TEST_CASE("a row's base is what cuGetProcAddress is asked for", "[hooks]") {
    const std::map<std::string, std::string> expected = {
        {"cuMemcpyHtoD_v2_ptds", "cuMemcpyHtoD"},
        {"cuMemcpy2DUnaligned", "cuMemcpy2DUnaligned"},
        {"cuStreamGetCaptureInfo_v3_ptsz", "cuStreamGetCaptureInfo"},
        {"cuLaunchKernel_ptsz", "cuLaunchKernel"},
        {"cuCtxCreate_v4", "cuCtxCreate"}};
    for (const auto& [name, base] : expected) {
        const int api = hooked_name(name.c_str());
        REQUIRE(api >= 0);
        CHECK(api_traits[api].base == base);
    }
}

TEST_CASE("twins, and only they, are about the thread's own stream", "[hooks]") {
    for (const ApiTraits& row : api_traits) {
        const std::string end = suffix(row.name, 5);
        CHECK(((row.traits & traits::per_thread) != 0) == (end == "_ptds" || end == "_ptsz"));
    }
}

TEST_CASE("a copy that blocks has no stream, one that does not has one", "[hooks]") {
    for (const ApiTraits& row : api_traits) {
        if (row.kind != EventKind::copy && row.kind != EventKind::memset) continue;
        const bool is_async = std::strstr(row.name, "Async") != nullptr;
        INFO(row.name);
        CHECK(((row.traits & traits::blocking) == 0) == is_async);
        CHECK((stream_word(row.kind, row.traits) == kNoStream) == !is_async);
    }
}

TEST_CASE("directions are what the names say", "[hooks]") {
    for (const ApiTraits& row : api_traits) {
        if (row.kind != EventKind::copy) continue;
        const uint32_t direction = row.traits & traits::direction_bits;
        const std::string name = row.base;
        INFO(name);
        const auto says = [&](const char* part) { return name.find(part) != std::string::npos; };
        CHECK((direction == traits::h2d) == (says("HtoD") || says("HtoA")));
        CHECK((direction == traits::d2h) == (says("DtoH") || says("AtoH")));
        CHECK(((row.traits & traits::to_array) != 0) == says("toA"));
        CHECK(((row.traits & traits::from_array) != 0) == says("Ato"));
    }
}

TEST_CASE("the look-up in an object finds what the linker finds", "[elf]") {
    for (const char* name : {"libcuda.so.1", "libnccl.so.2", "libc.so.6", "libm.so.6"}) {
        link_map* map = opened(name);
        REQUIRE(map != nullptr);
        for (const char* symbol : {"cuInit", "cuMemcpyHtoD_v2_ptds", "pncclAllReduce", "printf", "malloc",
                                   "pow", "dlsym", "no_such_name", ""}) {
            INFO(name << " " << symbol);
            Dl_info info = {};
            void* found = dlsym(map, symbol);
            const bool is_its_own = found != nullptr && dladdr(found, &info) != 0 &&
                                    reinterpret_cast<ElfW(Addr)>(info.dli_fbase) == map->l_addr;
            // Where a function chooses its address when it is bound, there is none to be read off the file.
            void* read = exported_by(map->l_addr, map->l_ld, symbol);
            if (read != nullptr) CHECK((is_its_own && read == found));
            if (is_its_own && std::strcmp(symbol, "pow") != 0) CHECK(read == found);
        }
    }
}

TEST_CASE("every export of the driver is found in its file", "[elf]") {
    link_map* map = opened("libcuda.so.1");
    REQUIRE(map != nullptr);
    for (const ApiTraits& row : api_traits) {
        if (row.version == 0) continue;
        INFO(row.name);
        CHECK(exported_by(map->l_addr, map->l_ld, row.name) == dlsym(map, row.name));
    }
}

TEST_CASE("the next definition of dlsym is libc's", "[elf]") {
    CHECK(next_dlsym() == reinterpret_cast<void*>(dlsym_of_libc()));
    void* const in_libc = dlsym(opened("libc.so.6"), "dlsym");  // since 2.34
    CHECK(next_dlsym() == (in_libc != nullptr ? in_libc : dlsym(opened("libdl.so.2"), "dlsym")));
}

TEST_CASE("calls go on in the library where nobody else stands behind us", "[resolve]") {
    link_map* cuda = opened("libcuda.so.1");
    CHECK(original(api_cuLaunchKernel) == dlsym(cuda, "cuLaunchKernel"));
    link_map* nccl = opened("libnccl.so.2");
    // The weak name may be anybody's; the one with a p is NCCL's.
    CHECK(original(api_ncclAllReduce) == dlsym(nccl, "pncclAllReduce"));
    CHECK(is_in_library(original(api_ncclAllReduce)));
    CHECK_FALSE(is_in_library(reinterpret_cast<void*>(&std::strlen)));
}

}  // namespace hooks_test
