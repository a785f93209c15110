// cuGetProcAddress, for every row of the table of exports, against what drivers 535 to 555 do (test/real asks
// them the same).
#include <dlfcn.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <set>

#include "core.h"

namespace lookup_test {

namespace {

struct Row {
    std::string name, base;
    int version;
    bool per_thread;
};

const Row kRows[] = {
#define EXPORT(export, implementation, base, version, per_thread) \
    {#export, #base, version, std::strcmp(#per_thread, "none") != 0},
#include "exports.def"
#undef EXPORT
};

constexpr cuuint64_t kDefault = CU_GET_PROC_ADDRESS_DEFAULT, kLegacy = CU_GET_PROC_ADDRESS_LEGACY_STREAM,
                     kPerThread = CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;

void* exported(const std::string& name) {
    static void* const library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    return dlsym(library, name.c_str());
}

// The highest version not above the one asked for; of a name that has per-thread forms, where one is wanted,
// only of those.
const Row* expected(const std::string& base, int version, bool per_thread) {
    const bool has_such = per_thread && std::any_of(std::begin(kRows), std::end(kRows), [&](const Row& row) {
                              return row.base == base && row.per_thread;
                          });
    const Row* best = nullptr;
    for (const Row& row : kRows) {
        if (row.base != base || row.version > version || row.per_thread != has_such) continue;
        if (best == nullptr || row.version > best->version) best = &row;
    }
    return best;
}

struct Answer {
    CUresult result_v1 = CUDA_ERROR_UNKNOWN, result = CUDA_ERROR_UNKNOWN;
    void *address_v1 = nullptr, *address = nullptr;
    CUdriverProcAddressQueryResult status = CU_GET_PROC_ADDRESS_SUCCESS;
};

Answer ask(const std::string& base, int version, cuuint64_t flags) {
    Answer a;
    a.result_v1 = cuGetProcAddress(base.c_str(), &a.address_v1, version, flags);
    a.result = cuGetProcAddress_v2(base.c_str(), &a.address, version, flags, &a.status);
    return a;
}

bool is_right(const Answer& a, const Row* row) {
    if (row == nullptr)
        return a.result == CUDA_SUCCESS && a.address == nullptr &&
               a.status == CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT &&
               a.result_v1 == CUDA_ERROR_NOT_FOUND && a.address_v1 == nullptr;
    void* const address = exported(row->name);
    return address != nullptr && a.result == CUDA_SUCCESS && a.result_v1 == CUDA_SUCCESS &&
           a.address == address && a.address_v1 == address && a.status == CU_GET_PROC_ADDRESS_SUCCESS;
}

}  // namespace

TEST_CASE("every export is found by base name, version and flags, and is the exported address", "[lookup]") {
    REQUIRE(std::size(kRows) == 655);
    int asked = 0;
    for (const Row& row : kRows)
        for (const int version : {row.version - 1, row.version, row.version + 1, 13000})
            for (const cuuint64_t flags : {kDefault, kLegacy, kPerThread}) {
                if (version > 13000 || row.version > 13000) continue;  // not of this driver
                const Row* wanted = expected(row.base, version, flags == kPerThread);
                const Answer answer = ask(row.base, version, flags);
                ++asked;
                if (!is_right(answer, wanted))
                    FAIL_CHECK(row.base << " at " << version << " flags " << flags << ": wanted "
                                        << (wanted != nullptr ? wanted->name : "none") << ", got "
                                        << answer.address);
            }
    CHECK(asked > 6000);
}

TEST_CASE("look-ups that are known by heart", "[lookup]") {
    const struct {
        const char* base;
        int version;
        cuuint64_t flags;
        const char* name;
    } known[] = {
        {"cuMemAlloc", 2000, 0, "cuMemAlloc"},
        {"cuMemAlloc", 3010, 0, "cuMemAlloc"},
        {"cuMemAlloc", 3020, 0, "cuMemAlloc_v2"},
        {"cuCtxCreate", 11040, 0, "cuCtxCreate_v3"},
        {"cuCtxCreate", 13000, 0, "cuCtxCreate_v4"},
        {"cuGetProcAddress", 11030, 0, "cuGetProcAddress"},
        {"cuGetProcAddress", 12000, 0, "cuGetProcAddress_v2"},
        {"cuMemcpyHtoD", 13000, kPerThread, "cuMemcpyHtoD_v2_ptds"},
        {"cuMemcpyHtoD", 13000, kPerThread | kLegacy, "cuMemcpyHtoD_v2_ptds"},
        {"cuMemcpyHtoD", 4000, kPerThread, nullptr},  // before there were per-thread forms
        {"cuMemcpyHtoD", 4000, kDefault, "cuMemcpyHtoD_v2"},
        {"cuInit", 99000, kDefault, "cuInit"},  // newer than the driver
        {"cuInit", -1, kDefault, "cuInit"},     // as unsigned
        {"cuLaunchKernel", 13000, kDefault, "cuLaunchKernel"},
        {"cuLaunchKernel", 13000, kPerThread, "cuLaunchKernel_ptsz"},
        {"cuInit", 13000, kPerThread, "cuInit"},
    };
    for (const auto& k : known) {
        INFO(k.base << " at " << k.version);
        void* const wanted = k.name != nullptr ? exported(k.name) : nullptr;
        CHECK(ask(k.base, k.version, k.flags).address == wanted);
    }
}

TEST_CASE("look-ups that find nothing", "[lookup]") {
    for (const char* name : {"", "cuNothing", "cuMemAlloc_v2", "cuLaunchKernel_ptsz", "ncclAllReduce"}) {
        const Answer a = ask(name, 13000, 0);
        INFO("name " << name);
        CHECK(a.result == CUDA_SUCCESS);
        CHECK(a.address == nullptr);
        CHECK(a.status == CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
        CHECK(a.result_v1 == CUDA_ERROR_NOT_FOUND);
    }
    int mine = 0;
    void* address = &mine;
    CHECK(cuGetProcAddress("cuNothing", &address, 13000, 0) == CUDA_ERROR_NOT_FOUND);
    CHECK(address == &mine);
    CHECK(cuGetProcAddress_v2("cuInit", &address, 13000, 8, nullptr) == CUDA_ERROR_INVALID_VALUE);
    CHECK(cuGetProcAddress_v2("cuInit", nullptr, 13000, 0, nullptr) == CUDA_ERROR_INVALID_VALUE);
    CHECK(cuGetProcAddress_v2(nullptr, &address, 13000, 0, nullptr) == CUDA_ERROR_INVALID_VALUE);
    CU(cuGetProcAddress_v2("cuInit", &address, 13000, 0, nullptr));  // the status is optional
}

TEST_CASE("what a look-up gives can be called", "[lookup]") {
    void* address = nullptr;
    CU(cuGetProcAddress("cuDriverGetVersion", &address, 13000, 0));
    int version = 0;
    CU(reinterpret_cast<decltype(&cuDriverGetVersion)>(address)(&version));
    CHECK(version == 13000);
}

TEST_CASE("an older driver lacks what came later", "[lookup]") {
    box::knobs("GPUSIM_VERSION=12000");
    CHECK(ask("cuCtxCreate", 12000, 0).address == exported("cuCtxCreate_v3"));
    CHECK(ask("cuGreenCtxCreate", 12000, 0).status == CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
    CHECK(ask("cuInit", 12010, 0).address == exported("cuInit"));
    for (const Row& row : kRows) {
        INFO(row.name);
        CHECK((exported(row.name) != nullptr) == (row.version <= 12000));
    }
}

TEST_CASE("missing names are found by no way, others stay", "[lookup]") {
    box::knobs("GPUSIM_MISSING=cuMemAlloc_v2,cuStreamGetId,cuStreamGetId_ptsz,cuLaunchKernel_ptsz");
    CHECK(exported("cuMemAlloc_v2") == nullptr);
    CHECK(exported("cuStreamGetId") == nullptr);
    CHECK(exported("cuMemAlloc") != nullptr);
    CHECK(ask("cuStreamGetId", 13000, 0).status == CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
    CHECK(ask("cuMemAlloc", 13000, 0).address == exported("cuMemAlloc"));
    CHECK(ask("cuLaunchKernel", 13000, kPerThread).address == exported("cuLaunchKernel"));
}

TEST_CASE("nothing but the exports is exported", "[lookup]") {
    for (const char* name : {"sim_cuInit", "gpusim_own_cuInit", "cuNothing", "cuda"})
        CHECK(exported(name) == nullptr);
}

}  // namespace lookup_test
