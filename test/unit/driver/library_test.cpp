// Libraries and kernels: loaded without a context, used in any.
#include <set>

#include "core.h"

namespace library_test {

namespace {

constexpr char kPtx[] = R"(
.version 8.0
.target sm_90
.address_size 64
.visible .global .align 4 .u32 value;
.visible .entry one__10us(.param .u64 a) { ret; }
.visible .entry two__20us() { ret; }
)";

CUlibrary load_library(const char* image = kPtx) {
    CUlibrary library = nullptr;
    CU(cuLibraryLoadData(&library, image, nullptr, nullptr, 0, nullptr, nullptr, 0));
    return library;
}

CUkernel kernel_of(CUlibrary library, const char* name) {
    CUkernel kernel = nullptr;
    CU(cuLibraryGetKernel(&kernel, library, name));
    return kernel;
}

CUfunction as_function(CUkernel kernel) { return reinterpret_cast<CUfunction>(kernel); }

}  // namespace

TEST_CASE("a library needs no context", "[library]") {
    CU(cuInit(0));
    CUlibrary library = load_library(), its = nullptr;
    unsigned count = 0;
    CU(cuLibraryGetKernelCount(&count, library));
    CHECK(count == 2);
    CUkernel kernels[2] = {};
    CU(cuLibraryEnumerateKernels(kernels, 2, library));
    std::set<std::string> names;
    for (CUkernel k : kernels) {
        const char* name = nullptr;
        CU(cuKernelGetName(&name, k));
        names.insert(name);
        CU(cuKernelGetLibrary(&its, k));
        CHECK(its == library);
    }
    CHECK(names == std::set<std::string>{"one__10us", "two__20us"});
    CUkernel kernel = nullptr;
    CHECK(cuLibraryGetKernel(&kernel, library, "three") == CUDA_ERROR_NOT_FOUND);
    CUfunction function = nullptr;
    CHECK(cuKernelGetFunction(&function, kernels[0]) == CUDA_ERROR_INVALID_CONTEXT);
}

TEST_CASE("a kernel is launched in the context of the stream", "[library]") {
    Timeline timeline("GPUSIM_DEVICES=2");
    make_context(1);
    CUstream there = make_stream();
    make_context(0);
    CUkernel two = kernel_of(load_library(), "two__20us");
    timeline.start();
    CU(launch(as_function(two), there));
    CU(launch(as_function(two)));
    CU(cuStreamSynchronize(there));
    CU(cuCtxSynchronize());
    const auto all = timeline.all();
    REQUIRE(all.size() == 2);
    CHECK(all[0].device == 1);
    CHECK(all[1].device == 0);
    CHECK(all[1].end_ns == 26'000);
}

TEST_CASE("a kernel has one function in each context", "[library]") {
    make_context();
    CUkernel two = kernel_of(load_library(), "two__20us");
    CUfunction first = nullptr, again = nullptr, second = nullptr;
    CU(cuKernelGetFunction(&first, two));
    CU(cuKernelGetFunction(&again, two));
    CHECK(first == again);
    CU(launch(first));
    make_context();
    CU(cuKernelGetFunction(&second, two));
    CHECK(second != first);
    CHECK(launch(first) == CUDA_ERROR_INVALID_HANDLE);
    CU(launch(second));
}

TEST_CASE("what is asked of a kernel", "[library]") {
    make_context();
    CUkernel one = kernel_of(load_library(), "one__10us");
    size_t offset = 9, size = 0;
    CU(cuKernelGetParamInfo(one, 0, &offset, &size));
    CHECK(offset == 0);
    CHECK(size == 8);
    CU(cuKernelSetAttribute(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 60000, one, 0));
    int value = 0;
    CU(cuKernelGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, one, 0));
    CHECK(value == 60000);
}

TEST_CASE("a library's module and variables, per context", "[library]") {
    make_context();
    CUlibrary library = load_library();
    CUmodule module = nullptr;
    CU(cuLibraryGetModule(&module, library));
    CUfunction function = nullptr;
    CU(cuModuleGetFunction(&function, module, "two__20us"));
    CHECK(cuModuleUnload(module) == CUDA_ERROR_NOT_PERMITTED);
    CUdeviceptr here = 0, there = 0;
    size_t bytes = 0;
    CU(cuLibraryGetGlobal(&here, &bytes, library, "value"));
    CHECK(bytes == 4);
    CHECK(cuLibraryGetGlobal(&there, &bytes, library, "none") == CUDA_ERROR_NOT_FOUND);
    make_context();
    CU(cuLibraryGetGlobal(&there, &bytes, library, "value"));
    CHECK(here != there);
}

TEST_CASE("contexts and libraries end independently", "[library]") {
    CUcontext first = make_context();
    CUlibrary library = load_library();
    CUkernel two = kernel_of(library, "two__20us");
    CU(launch(as_function(two)));
    CU(cuCtxDestroy_v2(first));
    make_context();
    CU(launch(as_function(two)));
    CU(cuCtxSynchronize());
    CU(cuLibraryUnload(library));
    CHECK(launch(as_function(two)) == CUDA_ERROR_INVALID_HANDLE);
    CHECK(cuLibraryUnload(library) == CUDA_ERROR_INVALID_HANDLE);
    const char* name = nullptr;
    CHECK(cuKernelGetName(&name, two) == CUDA_ERROR_INVALID_HANDLE);
}

TEST_CASE("thousands of libraries come and go", "[library]") {
    box::knobs("GPUSIM_CALL_NS=0 GPUSIM_LAUNCH_NS=0");
    make_context();
    for (int i = 0; i < 2000; ++i) {
        CUlibrary library = load_library();
        CU(launch(as_function(kernel_of(library, "two__20us"))));
        CU(cuLibraryUnload(library));
    }
}

}  // namespace library_test
