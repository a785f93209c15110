// A kernel's name as a person would say it.
#include <catch2/catch.hpp>

#include "analysis/kernel/short_name.h"
#include "analysis/text/width.h"

namespace short_name_test {

using namespace gpushim::analysis;

namespace {

struct Case {
    std::string_view name, is;
};
// As compilers and profilers write them.
constexpr Case kCases[] = {
    {"saxpy", "saxpy"},
    {"_Z5saxpyifPKfPf", "saxpy"},
    {"void scale<float>(float*, int)", "scale<float>"},
    {"void scale<128, unsigned int, true>(unsigned int*)", "scale<int>"},
    {"void (anonymous namespace)::gather<c10::BFloat16, 16>(c10::BFloat16*, unsigned long)",
     "gather<BFloat16>"},
    {"void at::native::vectorized_elementwise_kernel<4, at::native::BinaryFunctor<float, float, float, "
     "at::native::binary_internal::MulFunctor<float> >, std::array<char*, 3ul> >(int, "
     "at::native::BinaryFunctor<float, float, float, at::native::binary_internal::MulFunctor<float> >, "
     "std::array<char*, 3ul>)",
     "elementwise: MulFunctor<float>"},
    {"void at::native::elementwise_kernel<128, 4, at::native::gpu_kernel_impl_nocast<"
     "at::native::CUDAFunctor_add<c10::BFloat16> >(at::TensorIteratorBase&, "
     "at::native::CUDAFunctor_add<c10::BFloat16> const&)::{lambda(int)#1}>(int, int)",
     "elementwise: CUDAFunctor_add<BFloat16>"},
    {"void at::native::vectorized_elementwise_kernel<4, at::native::(anonymous namespace)::silu_kernel("
     "at::TensorIteratorBase&)::{lambda()#1}::operator()() const::{lambda()#6}::operator()() const::"
     "{lambda(c10::BFloat16)#1}, std::array<char*, 2ul> >(int)",
     "elementwise: silu_kernel<BFloat16>"},
    {"void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::MeanOps<float, float, "
     "float, float>, unsigned int, float, 4> >(int)",
     "reduction: MeanOps<float>"},
    {"void clover::par_ranged2d_kernel<ideal_gas_kernel(int, int, clover::Buffer2D<double> &, "
     "clover::Buffer2D<double> &)::[lambda(int, int) (instance 1)]>(clover::Range2d, T1)",
     "par_ranged2d_kernel: ideal_gas_kernel<int>"},
    {"void Eigen::internal::EigenMetaKernel<Eigen::TensorEvaluator<Eigen::TensorAssignOp<Eigen::TensorMap<"
     "Eigen::Tensor<Eigen::half, 1, 1, int>, 16>, Eigen::TensorCwiseUnaryOp<Eigen::internal::scalar_right<"
     "Eigen::half, Eigen::half, Eigen::internal::scalar_product_op<Eigen::half, Eigen::half>, false>, int> "
     "const> const, Eigen::GpuDevice>, long>(int)",
     "elementwise: scalar_product_op<half>"},
    {"void cutlass::Kernel2<cutlass_80_tensorop_s16816gemm_f16_256x128_32x3_nn_align8>(int)",
     "cutlass_80_tensorop_s16816gemm_f16_256x128_32x3_nn_align8"},
    {"std::enable_if<(((8)>(0)))&&app::exists<float>, void>::type app::rms_norm_kernel<c10::BFloat16, "
     "8>(c10::BFloat16*, long)",
     "rms_norm_kernel<BFloat16>"},
    // A shell says nothing of what it launches.
    {"void lib::entry<lib::gfx_t, 2, lib::FmhaFwdKernel<lib::Pipeline<float> > >(lib::Arguments)",
     "FmhaFwdKernel"},
    {"_ZN3lib5entryILi2ENS_13FmhaFwdKernelINS_8Pipeline", "FmhaFwdKernel"},
    {"_ZN3lib5entryILi20ENS_4TileINS_8Pipeline", "entry"},
    // Cut off: what it begins with.
    {"_ZN2ck6device19kernel_batched_gemmINS_47GridwiseGemm_bk0", "kernel_batched_gemm"},
};

}  // namespace

TEST_CASE("templates are folded to what is done", "[kernel][short_name]") {
    for (const Case& one : kCases) {
        INFO(one.name);
        CHECK(short_name(one.name) == one.is);
    }
}

TEST_CASE("a name that is none is left as it is", "[kernel][short_name]") {
    for (const std::string_view name :
         {"", " ", "(name not known)", "_Z", "_Z99999999999999999999x", "<<<<", ">>>", "a<b", "void f<(",
          "::", "a::", "\x80\xff", "(((", "f<g<h<i(", "graph 7", "x y z("})
        CHECK(!short_name(name).empty() == !name.empty());
    CHECK(short_name("(name not known)") == "(name not known)");
    CHECK(short_name("void app::scale<float, app::Fun") == "scale<float>");  // cut off
    std::string deep = "void f";
    for (int i = 0; i < 5000; ++i) deep += "<g";
    CHECK(!short_name(deep).empty());
    std::string closed = "void f";
    for (int i = 0; i < 2000; ++i) closed += "<g";
    CHECK(!short_name(closed + std::string(2000, '>')).empty());
}

TEST_CASE("a long name is cut in the middle", "[kernel][short_name]") {
    CHECK(cut_in_the_middle("abcdefgh", 8) == "abcdefgh");
    CHECK(cut_in_the_middle("abcdefghi", 8) == "abcd…ghi");
    CHECK(width_of(cut_in_the_middle(std::string(200, 'x'), 44)) == 44);
    const std::string cut = cut_short_name(
        "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_execute_kernel__5x_cublas");
    CHECK(cut.starts_with("sm90_xmma_gemm_bf16bf1"));
    CHECK(cut.ends_with("kernel__5x_cublas"));
    CHECK(width_of(cut) == kWidestKernel);
}

}  // namespace short_name_test
