// Matrix products: what the hooks take from a call, what becomes of it as a row, and how descriptions of
// matrices are read.
#include <dlfcn.h>

#include "box.h"
#include "shim/hooks/cublas_words.h"
#include "trace.h"

namespace gemm_test {

using namespace trace;

namespace {

constexpr ProductHow kHalf = {
    1, CUDA_R_16F, CUDA_R_16F, CUDA_R_16F, CUBLAS_COMPUTE_32F, Sharing::none, Sharing::none};

std::string row_of(const char* name, std::initializer_list<uint64_t> words, uint8_t flags = 0) {
    Trace trace;
    Events events;
    events.call(name, 10, 20, words, {.flags = flags});
    trace.write(events);
    return trace.ask(
        "SELECT m, n, k, batch, a_type, b_type, c_type, compute, CAST(flops AS INTEGER), CAST(bytes AS "
        "INTEGER),"
        " failed FROM v_gemm");
}

template <class W, class... A>
ProductHow how_of(const A&... arguments) {
    return product_how_of(W::take(std::tuple<const A&...>(arguments...), true));
}

std::string text_of(const ProductHow& how) {
    return std::to_string(how.batch) + " of " + std::to_string(how.a_type) + "," +
           std::to_string(how.b_type) + "," + std::to_string(how.c_type) + " by " +
           std::to_string(how.compute) + " shared " + std::to_string(static_cast<int>(how.a_sharing)) + "," +
           std::to_string(static_cast<int>(how.b_sharing));
}

template <class Function>
Function function(const char* name) {
    return reinterpret_cast<Function>(dlsym(dlopen("libcublasLt.so.12", RTLD_NOW | RTLD_GLOBAL), name));
}

// As the hooks get them: a pointer, until the end of the case.
struct Layout {
    cublasLtMatrixLayout_t is = nullptr;
    Layout(cudaDataType type, uint64_t rows, uint64_t columns);
    ~Layout() { function<decltype(&cublasLtMatrixLayoutDestroy)>("cublasLtMatrixLayoutDestroy")(is); }
    Layout(const Layout&) = delete;
};

Layout::Layout(cudaDataType type, uint64_t rows, uint64_t columns) {
    const auto create = function<decltype(&cublasLtMatrixLayoutCreate)>("cublasLtMatrixLayoutCreate");
    const auto set =
        function<decltype(&cublasLtMatrixLayoutSetAttribute)>("cublasLtMatrixLayoutSetAttribute");
    const int32_t batch = 4;
    REQUIRE(create(&is, type, rows, columns, 64) == CUBLAS_STATUS_SUCCESS);
    REQUIRE(set(is, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &batch, sizeof batch) == CUBLAS_STATUS_SUCCESS);
}

// A is given as it is used in a product whose A is transposed.
void check_descriptions() {
    const Layout a(CUDA_R_16BF, 64, 96), d(CUDA_R_32F, 96, 32);
    cublasLtMatmulDesc_t how = nullptr;
    const auto describe = function<decltype(&cublasLtMatmulDescCreate)>("cublasLtMatmulDescCreate");
    REQUIRE(describe(&how, CUBLAS_COMPUTE_16F, CUDA_R_16F) == CUBLAS_STATUS_SUCCESS);
    const auto arguments = std::tie(how, a.is, d.is);
    CHECK(words::layout_m<2>::take(arguments, true) == 96);
    CHECK(words::layout_n<2>::take(arguments, true) == 32);
    CHECK(words::layout_k<1, 2>::take(arguments, true) == 64);
    CHECK(text_of(product_how_of(words::layout_how<0, 1, 1, 2>::take(arguments, true))) ==
          "4 of 14,14,0 by 64 shared 1,1");
    CHECK(words::layout_m<2>::take(arguments, false) == kSizeNotTold);
    CHECK(words::layout_how<0, 1, 1, 2>::take(arguments, false) == 0);
    function<decltype(&cublasLtMatmulDescDestroy)>("cublasLtMatmulDescDestroy")(how);
}

}  // namespace

TEST_CASE("a product has its sizes, types, operations and bytes", "[gemm]") {
    // 2 * 1024 * 512 * 256; 2 * (1024 * 256 + 256 * 512 + 1024 * 512)
    CHECK(row_of("cublasGemmEx", {1024, 512, 256, product_word(kHalf)}) ==
          "1024|512|256|1|float16|float16|float16|float32|268435456|1835008|0");
}

TEST_CASE("products of a batch that share a matrix read it once", "[gemm]") {
    ProductHow how = {6, CUDA_R_32F, CUDA_R_32F, CUDA_R_32F, kComputeNotTold, Sharing::none, Sharing::one};
    // 2 * 8 * 4 * 2 * 6; 4 * (8 * 2 * 6 + 2 * 4 + 8 * 4 * 6)
    CHECK(row_of("cublasSgemmStridedBatched", {8, 4, 2, product_word(how)}) ==
          "8|4|2|6|float32|float32|float32|-|768|1184|0");
    how.b_sharing = Sharing::not_told;
    CHECK(row_of("cublasSgemmBatched", {8, 4, 2, product_word(how)}) ==
          "8|4|2|6|float32|float32|float32|-|768|-|0");
}

TEST_CASE("what is not known of a product is not recorded", "[gemm]") {
    CHECK(row_of("cublasLtMatmul", {8, 4, 2, 0}) == "-|-|-|-|-|-|-|-|-|-|0");
    CHECK(row_of("cublasLtMatmul", {8, kSizeNotTold, 2, product_word(kHalf)}) == "-|-|-|-|-|-|-|-|-|-|0");
    CHECK(row_of("cublasGemmEx", {8, 4, 2, 7}, kFailed) == "-|-|-|-|-|-|-|-|-|-|1");
    ProductHow how = kHalf;
    how.a_type = 200;  // of a library that is newer
    CHECK(row_of("cublasGemmEx", {8, 4, 2, product_word(how)}) == "8|4|2|1|-|float16|float16|float32|-|-|0");
}

TEST_CASE("complex numbers take four times the operations", "[gemm]") {
    const ProductHow how = {
        1, CUDA_C_32F, CUDA_C_32F, CUDA_C_32F, CUBLAS_COMPUTE_32F, Sharing::none, Sharing::none};
    CHECK(row_of("cublasGemmEx", {8, 4, 2, product_word(how)}) ==
          "8|4|2|1|complex64|complex64|complex64|float32|512|448|0");
}

TEST_CASE("how a product is done goes through a word unharmed", "[gemm]") {
    const ProductHow how = {0xffffffff, 33, 29, 14, 78, Sharing::not_told, Sharing::one};
    CHECK(text_of(product_how_of(product_word(how))) == "4294967295 of 33,29,14 by 78 shared 2,1");
    CHECK(product_word(kHalf) != 0);
}

TEST_CASE("a stride of nothing means one matrix for all, unless there is one product", "[gemm]") {
    using Strided = words::strided<CUDA_R_32F, 0, 1, 2>;
    CHECK(text_of(how_of<Strided>(5, 0LL, 64LL)) == "5 of 0,0,0 by 255 shared 1,0");
    CHECK(text_of(how_of<Strided>(1, 0LL, 0LL)) == "1 of 0,0,0 by 255 shared 0,0");
    CHECK(text_of(how_of<words::listed<CUDA_R_64F, 0>>(5)) == "5 of 1,1,1 by 255 shared 2,2");
}

TEST_CASE("descriptions are read where the library keeps them", "[gemm]") { check_descriptions(); }

TEST_CASE("descriptions are read where another library keeps them", "[gemm]") {
    box::knobs("GPUSIM_CUBLASLT_ORDER=3");
    check_descriptions();
}

TEST_CASE("descriptions with addresses in the place of sizes say nothing", "[gemm]") {
    cublasLtMatmulDesc_t how = nullptr;
    const Layout d(CUDA_R_32F, 0x7f0000001000, 32);
    REQUIRE(can_read_layouts());
    CHECK(words::layout_how<0, 1, 1, 1>::take(std::tie(how, d.is), true) == 0);
}

}  // namespace gemm_test
