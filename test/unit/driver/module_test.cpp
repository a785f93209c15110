// Modules: what is read from PTX text, what is made of any other image, and functions.
#include <cstring>
#include <set>

#include "core.h"
#include "shim/base/sanitized.h"

namespace module_test {

namespace {

constexpr char kPtx[] = R"(//
// .entry in_a_comment(.param .u64 x)
.version 8.0
.target sm_90 /* .entry also_a_comment() */
.address_size 64
.visible .global .align 4 .b8 table[48];
.global .align 8 .u64 counter = 7;
.const .align 4 .f32 factors[3] = {1.0, 2.0, 3.0};
.extern .func helper(.param .b32 x);
.visible .entry plain() { .local .align 4 .b8 inside[16]; ret; }
.visible .entry mixed(
    .param .u32 a,
    .param .u64 .ptr .global .align 1 b,
    .param .align 8 .b8 c[20],
    .param .u16 d,
    .param .f64 e
)
.maxntid 256, 1, 1
{ ret; }
.entry hidden(.param .u8 x) { ret; }
)";

CUfunction function_of(CUmodule module, const char* name) {
    CUfunction function = nullptr;
    CU(cuModuleGetFunction(&function, module, name));
    return function;
}

}  // namespace

TEST_CASE("PTX text tells the kernels that there are", "[module]") {
    make_context();
    CUmodule module = load(kPtx);
    unsigned count = 0;
    CU(cuModuleGetFunctionCount(&count, module));
    CHECK(count == 3);
    CUfunction list[3] = {};
    CU(cuModuleEnumerateFunctions(list, 3, module));
    std::set<std::string> names;
    for (CUfunction f : list) {
        const char* name = nullptr;
        CU(cuFuncGetName(&name, f));
        names.insert(name);
    }
    CHECK(names == std::set<std::string>{"plain", "mixed", "hidden"});
    CUfunction function = nullptr;
    for (const char* name : {"in_a_comment", "also_a_comment", "helper", "Plain", ""})
        CHECK(cuModuleGetFunction(&function, module, name) == CUDA_ERROR_NOT_FOUND);
    CHECK(function_of(module, "plain") == function_of(module, "plain"));
}

TEST_CASE("PTX text tells a kernel's parameters", "[module]") {
    make_context();
    CUfunction mixed = function_of(load(kPtx), "mixed");
    const size_t expected[][2] = {{0, 4}, {8, 8}, {16, 20}, {36, 2}, {40, 8}};
    size_t offset = 0, size = 0;
    for (size_t i = 0; i < std::size(expected); ++i) {
        CU(cuFuncGetParamInfo(mixed, i, &offset, &size));
        CHECK(offset == expected[i][0]);
        CHECK(size == expected[i][1]);
    }
    CU(cuFuncGetParamInfo(mixed, 0, &offset, nullptr));
    CHECK(cuFuncGetParamInfo(mixed, std::size(expected), &offset, &size) == CUDA_ERROR_INVALID_VALUE);
    CHECK(cuFuncGetParamInfo(function_of(load(kPtx), "plain"), 0, &offset, &size) ==
          CUDA_ERROR_INVALID_VALUE);
}

TEST_CASE("PTX text tells a module's variables", "[module]") {
    make_context();
    CUmodule module = load(kPtx);
    const std::pair<const char*, size_t> expected[] = {{"table", 48}, {"counter", 8}, {"factors", 12}};
    std::set<CUdeviceptr> addresses;
    for (const auto& [name, size] : expected) {
        CUdeviceptr address = 0, again = 0;
        size_t bytes = 0;
        CU(cuModuleGetGlobal_v2(&address, &bytes, module, name));
        CHECK(bytes == size);
        CU(cuModuleGetGlobal_v2(&again, nullptr, module, name));
        CHECK(address == again);
        addresses.insert(address);
    }
    CHECK(addresses.size() == 3);
    CUdeviceptr address = 0;
    for (const char* name : {"inside", "nothing", "plain"})
        CHECK(cuModuleGetGlobal_v2(&address, nullptr, module, name) == CUDA_ERROR_NOT_FOUND);
}

TEST_CASE("any other image has a kernel of every name", "[module]") {
    make_context();
    const unsigned char binary[] = {0x7f, 'E', 'L', 'F', 2, 1, 1, 0x33, 7, 0, 0, 0, 0, 0, 0, 0};
    CUmodule module = nullptr;
    CU(cuModuleLoadData(&module, binary));
    CHECK(function_of(module, "whatever") != function_of(module, "else"));
    CU(launch(function_of(module, "whatever")));
    unsigned count = 1;
    CU(cuModuleGetFunctionCount(&count, module));
    CHECK(count == 0);
    CU(cuModuleLoadFatBinary(&module, binary));
    CU(cuModuleLoadDataEx(&module, binary, 0, nullptr, nullptr));
    CHECK(cuModuleLoadDataEx(&module, binary, 1, nullptr, nullptr) == CUDA_ERROR_INVALID_VALUE);
}

TEST_CASE("an image from a file", "[module]") {
    make_context();
    const std::string path = "/tmp/gpusim-case-" + std::to_string(getpid()) + ".ptx";
    std::ofstream(path) << kPtx;
    CUmodule module = nullptr;
    CU(cuModuleLoad(&module, path.c_str()));
    CHECK(function_of(module, "mixed") != nullptr);
    unlink(path.c_str());
    CHECK(cuModuleLoad(&module, path.c_str()) == CUDA_ERROR_FILE_NOT_FOUND);
}

TEST_CASE("unloading a module ends its functions, not its kernels at work", "[module]") {
    Timeline timeline;
    make_context();
    CUmodule module = load(kAnyImage);
    CUfunction f = function_of(module, "f__10us");
    CU(launch(f));
    CU(cuModuleUnload(module));
    CHECK(launch(f) == CUDA_ERROR_INVALID_HANDLE);
    const char* name = nullptr;
    CHECK(cuFuncGetName(&name, f) == CUDA_ERROR_INVALID_HANDLE);
    CHECK(cuModuleUnload(module) == CUDA_ERROR_INVALID_HANDLE);
    CUfunction again = nullptr;
    CHECK(cuModuleGetFunction(&again, module, "f__10us") == CUDA_ERROR_INVALID_HANDLE);
    CU(cuCtxSynchronize());
    CHECK(timeline.named("f__10us").end_ns - timeline.named("f__10us").start_ns == 10'000);
}

TEST_CASE("thousands of modules come and go, handles are used again", "[module]") {
    box::knobs("GPUSIM_CALL_NS=0 GPUSIM_LAUNCH_NS=0");
    make_context();
    std::set<CUmodule> handles;
    for (int i = 0; i < 3000; ++i) {
        CUmodule module = load(kPtx);
        handles.insert(module);
        CUdeviceptr address = 0;
        CU(cuModuleGetGlobal_v2(&address, nullptr, module, "table"));
        CU(launch(function_of(module, "plain")));
        CU(cuModuleUnload(module));
    }
#if !UNDER_ADDRESS_SANITIZER  // its allocator gives nothing out again soon
    CHECK(handles.size() < 3000);
#endif
    CU(cuCtxSynchronize());
}

TEST_CASE("what is asked of a function", "[module]") {
    make_context();
    CUmodule module = load(kPtx), its = nullptr;
    CUfunction f = function_of(module, "plain");
    CU(cuFuncGetModule(&its, f));
    CHECK(its == module);
    int value = 0;
    CU(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, f));
    CHECK(value == 1024);
    CHECK(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX, f) == CUDA_ERROR_INVALID_VALUE);
    CHECK(cuFuncSetAttribute(f, CU_FUNC_ATTRIBUTE_NUM_REGS, 8) == CUDA_ERROR_INVALID_VALUE);  // read only
    int blocks = 0;
    CU(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, f, 256, 0));
    CHECK(blocks == 8);  // 2048 threads / 256
    CU(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, f, 32, 99 * 1024));
    CHECK(blocks == 2);  // 228 KiB / (99 + 1) KiB
    int grid = 0, block = 0;
    CU(cuOccupancyMaxPotentialBlockSize(&grid, &block, f, nullptr, 0, 0));
    CHECK(grid == 2 * 132);
    CHECK(block == 1024);
    CUmoduleLoadingMode mode{};
    CU(cuModuleGetLoadingMode(&mode));
    CHECK(mode == CU_MODULE_LAZY_LOADING);
}

TEST_CASE("linking gives an image that loads", "[module]") {
    make_context();
    CUlinkState link = nullptr;
    void* image = nullptr;
    size_t bytes = 0;
    CU(cuLinkCreate_v2(0, nullptr, nullptr, &link));
    CU(cuLinkAddData_v2(link, CU_JIT_INPUT_PTX, const_cast<char*>(kPtx), sizeof kPtx, "p", 0, nullptr,
                        nullptr));
    CU(cuLinkComplete(link, &image, &bytes));
    CHECK(function_of(load(static_cast<const char*>(image)), "plain") != nullptr);
    CU(cuLinkDestroy(link));
    CHECK(cuLinkAddFile_v2(link, CU_JIT_INPUT_PTX, nullptr, 0, nullptr, nullptr) == CUDA_ERROR_INVALID_VALUE);
}

TEST_CASE("wrong arguments about modules", "[module]") {
    make_context();
    CUmodule module = nullptr;
    CUfunction function = nullptr;
    CHECK(cuModuleLoadData(&module, nullptr) == CUDA_ERROR_INVALID_VALUE);
    CHECK(cuModuleLoadData(nullptr, kPtx) == CUDA_ERROR_INVALID_VALUE);
    CHECK(cuModuleLoadData(&module, "// a comment, but no PTX") == CUDA_ERROR_INVALID_PTX);
    CHECK(cuModuleGetFunction(&function, load(kPtx), nullptr) == CUDA_ERROR_INVALID_VALUE);
    CHECK(cuModuleGetFunction(nullptr, load(kPtx), "plain") == CUDA_ERROR_INVALID_VALUE);
    CHECK(cuModuleGetFunction(&function, reinterpret_cast<CUmodule>(&module), "plain") ==
          CUDA_ERROR_INVALID_HANDLE);
}

}  // namespace module_test
