// How names are read and rows are matched.
#include "analysis/kernel/kernel_class.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <set>
#include <string>

#include "kernel_said.h"

namespace kernel_class_test {

using namespace gpushim::analysis;

TEST_CASE("tensor cores: silence is not a no", "[kernel]") {
    for (const char* name :
         {"", "my_kernel", "gemm_kernel", "triton_mm", "my_gemm<float>", "sm80_xmma_fprop_implicit_gemm",
          "_fwd_kernel", "conv2d_grouped_direct_kernel"}) {
        INFO(name);
        CHECK(classify(name).tensor_core == TensorCore::unknown);
    }
    CHECK(classify("").family == KernelFamily::other);
    CHECK(classify("my_kernel") == KernelClass{});
    // Letters that only look like an instruction.
    CHECK(classify("GammaBetaBackwardCUDAKernel").tensor_core == TensorCore::unknown);
    CHECK(classify("summarise_dummy_comma_kernel").tensor_core == TensorCore::unknown);
}

TEST_CASE("words, prefixes and beginnings", "[kernel]") {
    CHECK(classify("_scaled_mm_kernel").family == KernelFamily::gemm);
    CHECK(classify("fused_mm_2").family == KernelFamily::gemm);
    CHECK(classify("comm_kernel").family == KernelFamily::other);
    CHECK(classify("mmap_kernel").family == KernelFamily::other);
    CHECK(said_by("ampere_dgemm_64x64_nn") == "gemm fp64 no");
    CHECK(said_by("GroupedGemmKernel") == "gemm unknown unknown");
    CHECK(said_by("kernelsgemm_kernel") == "gemm unknown unknown");
    CHECK(classify("fill_kernel").family == KernelFamily::fill);
    CHECK(classify("_varlen_prefill_kernel").family == KernelFamily::other);
    CHECK(classify("loop_add_fusion").family == KernelFamily::elementwise);
    CHECK(classify("my_loop_attention_fusion").family == KernelFamily::attention);
    CHECK(classify("void loops::loop_attention_fusion<float>(int)").family == KernelFamily::attention);
}

TEST_CASE("some kernels tell what their program does", "[kernel]") {
    const auto purpose = [](const char* name) { return classify(name).purpose; };
    CHECK(purpose("cudnn::bn_bw_1C11_kernel_new") == KernelPurpose::unknown);
    CHECK(purpose("sm80_xmma_dgrad_implicit_gemm") == KernelPurpose::gradient);
    CHECK(purpose("LayerNormBackward") == KernelPurpose::gradient);
    CHECK(purpose("void flash::flash_fwd_kernel<Flash_fwd_kernel_traits<64>>(int)") ==
          KernelPurpose::unknown);
    CHECK(purpose("void flash::flash_fwd_splitkv_kernel<Traits<64>>(int)") == KernelPurpose::decode);
    CHECK(purpose("paged_attention_ll4mi_QKV_mfma16_kernel") == KernelPurpose::decode);
    CHECK(purpose("_fwd_grouped_kernel_stage1") == KernelPurpose::decode);
    CHECK(purpose("BatchPrefillWithPagedKVCacheKernel") == KernelPurpose::prefill);
    CHECK(purpose("vllm::reshape_and_cache_flash_kernel") == KernelPurpose::either);
    CHECK(purpose("fmhaSm100fKernel_QkvBfloat16H128PagedKvCausalP64VarSeqQ8Kv128Static") ==
          KernelPurpose::either);
    CHECK(purpose("kernel_unified_attention_2d") == KernelPurpose::either);
    CHECK(purpose("void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::ArgMaxOps"
                  "<float>, unsigned int, long, 4, 4>>(int)") == KernelPurpose::sample);
    CHECK(purpose("void at::native::(anonymous namespace)::sampleMultinomialOnce<float, float>(int)") ==
          KernelPurpose::sample);
    CHECK(purpose("void at::native::sbtopk::gatherTopK<float, unsigned int, 2, false>(int)") ==
          KernelPurpose::sample);
}

TEST_CASE("eligible are products, convolutions and attention", "[kernel]") {
    CHECK(classify("ampere_sgemm_32x128_tn").eligible());
    CHECK(classify("volta_scudnn_128x64_relu_interior_nn_v1").eligible());
    CHECK(classify("fmha_cutlassF_f32_aligned_64x64_rf_sm80").eligible());
    CHECK_FALSE(classify("void cublasLt::splitKreduce_kernel<32, 16, int>(int)").eligible());
    CHECK_FALSE(classify("ncclDevKernel_AllGather_RING_LL").eligible());
    CHECK_FALSE(classify("nchwToNhwcKernel").eligible());
}

TEST_CASE("families are drawn in the colour of their group", "[kernel]") {
    CHECK(group_of(KernelFamily::gemm) == KernelGroup::gemm);
    CHECK(group_of(KernelFamily::softmax) == KernelGroup::reduction);
    CHECK(group_of(KernelFamily::optimizer) == KernelGroup::elementwise);
    CHECK(group_of(KernelFamily::embedding) == KernelGroup::memory);
    CHECK(group_of(KernelFamily::comm) == KernelGroup::comm);
    CHECK(group_of(KernelFamily::split) == KernelGroup::memory);
    CHECK(group_of(KernelFamily::other) == KernelGroup::other);
}

TEST_CASE("alignment is of what tensor cores are fed", "[kernel]") {
    const auto alignment = [](const char* name) { return name_of(classify(name).alignment); };
    CHECK(alignment("cutlass_80_tensorop_s1688gemm_64x64_32x6_tn_align1") == "unaligned");
    CHECK(alignment("cutlass_80_tensorop_f16_s16816gemm_f16_128x128_32x3_nn_align2") == "unaligned");
    CHECK(alignment("cutlass_80_tensorop_s1688gemm_64x64_32x6_tn_align4") == "aligned");  // 16 bytes
    CHECK(alignment("cutlass_80_tensorop_bf16_s16816gemm_bf16_64x64_32x6_tn_align4") == "unaligned");  // 8
    CHECK(alignment("cutlass_80_tensorop_bf16_s16816gemm_bf16_64x64_32x6_tn_align8") == "aligned");
    CHECK(alignment("cutlass_80_tensorop_i16832gemm_s8_256x128_64x3_tn_align16") == "aligned");
    CHECK(alignment("fmha_cutlassF_f16_notaligned_64x64_rf_sm80") == "unaligned");
    // The only form there is.
    CHECK(alignment("cutlass_80_tensorop_d884gemm_64x128_16x3_nn_align1") == "unknown");
    CHECK(alignment("cutlass_80_simt_sgemm_256x128_8x4_nn_align1") == "unknown");
    CHECK(alignment("ampere_sgemm_32x128_tn") == "unknown");
}

TEST_CASE("whose kernel it is", "[kernel]") {
    const auto library = [](const char* name) { return name_of(classify(name).library); };
    CHECK(library("ampere_sgemm_32x128_tn") == "cublas");
    CHECK(library("nvjet_tst_192x192_64x4_2x1_v_bz_coopB_TNN") == "cublas");
    CHECK(library("sm80_xmma_fprop_implicit_gemm_f16f16_f16f32_f32_nhwc_execute_kernel__5x_cudnn") ==
          "cudnn");
    CHECK(library("void cutlass::Kernel<cutlass_80_tensorop_s1688gemm_64x64_32x6_tn_align1>(int)") ==
          "cutlass");
    CHECK(library("void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>>(int)") ==
          "pytorch");
    CHECK(library("void cub::DeviceReduceKernel<cub::Policy, at::native::Sum<float>>(int)") == "cub");
    CHECK(library("void Eigen::internal::EigenMetaKernel<float>(int)") == "tensorflow");
    CHECK(library("loop_multiply_fusion_1") == "xla");
    CHECK(library("ncclDevKernel_AllGather_RING_LL") == "nccl");
    CHECK(library("void flash::flash_fwd_kernel<cutlass::half_t>(int)") == "flash_attention");
    CHECK(library("void multi_tensor_apply_kernel<TensorListMetadata<4>, AdamFunctor<float>>(int)") ==
          "apex");
    CHECK(library("void vllm::act_and_mul_kernel<c10::BFloat16>(int)") == "unknown");
    CHECK(library("triton_poi_fused_add_0") == "triton");
    for (const char* name : {"triton_poi_fused_add_0", "gemm_fusion_dot_265", "_fwd_kernel_0d1d2d3de4de"})
        CHECK(classify(name).is_triton);
    CHECK_FALSE(classify("ampere_sgemm_32x128_tn").is_triton);
}

TEST_CASE("a mixed precision says of what", "[kernel]") {
    CHECK(classify("void marlin::Marlin<1l, 128>(int4 const*)").mixed == "narrow weights x 16 bits");
    CHECK(classify("cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_7").mixed ==
          "fp16 or bf16");
    CHECK(classify("bmm_MxE4m3_MxE2m1MxE4m3_Fp32_bA32").mixed == "fp4 x fp8");
    CHECK(classify("ampere_sgemm_32x128_tn").mixed.empty());
    // A later mixed row adds nothing to a precision that is known.
    CHECK(classify("nvjet_tst_quantize").mixed.empty());
}

TEST_CASE("mangled, demangled and cut off names say the same", "[kernel]") {
    const char* mangled =
        "_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_11FillFunctorIfEENS_"
        "6detail5ArrayIPcLi1EEEEEviT0_T1_";
    CHECK(classify(mangled) ==
          classify("void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>, "
                   "at::detail::Array<char*, 1> >(int, at::native::FillFunctor<float>, "
                   "at::detail::Array<char*, 1>)"));
    CHECK(said_by(
              "_ZN7cutlass13device_kernelINS_4gemm6kernel13GemmUniversalIN4cute5tupleIJiiiiEEENS1_10colle") ==
          "gemm unknown unknown");
    CHECK(said_by("void cutlass__5x_cudnn::Kernel<cutlass_tensorop_s1688fprop...") == "convolution tf32 yes");
    // Endless and broken names end.
    CHECK(said_by(("_Z" + std::string(100'000, 'N'))) == "other unknown unknown");
    CHECK(said_by(std::string(100'000, '<')) == "other unknown unknown");
    CHECK(said_by(">>>)(( void <(") == "other unknown unknown");
}

TEST_CASE("a row is not hidden by the rows before it", "[kernel]") {
    for (const NameRow& row : name_rows()) {
        std::string name(row.pattern.text);
        for (size_t at; (at = name.find('#')) != std::string::npos;) name.replace(at, 1, "90");
        name += "_" + std::string(row.pattern.also);
        if (row.pattern.match != Match::begins) name = "f<" + name;  // some only stand in template arguments
        INFO(name);
        const KernelClass kernel = classify(name);
        if (row.facts.family != KernelFamily::other)
            CHECK(name_of(kernel.family) == name_of(row.facts.family));
        if (kernel.family == KernelFamily::comm && row.facts.comm_operation != CommOperation::none)
            CHECK(name_of(kernel.comm_operation) == name_of(row.facts.comm_operation));
        if (row.facts.comm_source != CommSource::none)
            CHECK(name_of(kernel.comm_source) == name_of(row.facts.comm_source));
        if (row.facts.precision != Precision::unknown)
            CHECK(name_of(kernel.precision) == name_of(row.facts.precision));
        if (row.facts.precision == Precision::mixed) CHECK(kernel.mixed == row.facts.mixed);
        if (row.facts.tensor_core != TensorCore::unknown)
            CHECK(name_of(kernel.tensor_core) == name_of(row.facts.tensor_core));
        if (row.facts.alignment != Alignment::unknown)
            CHECK(name_of(kernel.alignment) == name_of(row.facts.alignment));
        if (row.facts.library != KernelLibrary::unknown)
            CHECK(name_of(kernel.library) == name_of(row.facts.library));
        CHECK(kernel.is_triton >= row.facts.is_triton);
    }
}

TEST_CASE("the rows are in the form names are compared in, and each stands once", "[kernel]") {
    std::set<std::string> seen;
    for (const NameRow& row : name_rows()) {
        INFO(row.pattern.text << " " << row.pattern.also);
        for (const std::string_view text : {row.pattern.text, row.pattern.also})
            CHECK(std::none_of(text.begin(), text.end(), [](char c) { return c >= 'A' && c <= 'Z'; }));
        CHECK_FALSE(row.pattern.text.empty());
        CHECK(row.facts != KernelClass{});
        CHECK((row.facts.precision == Precision::mixed) == !row.facts.mixed.empty());
        std::string key = std::to_string(static_cast<int>(row.pattern.match)) + std::string(row.pattern.text);
        key += "|" + std::string(row.pattern.also) + "|";
        key += row.facts.family != KernelFamily::other           ? "f"
               : row.facts.precision != Precision::unknown       ? "p"
               : row.facts.tensor_core != TensorCore::unknown    ? "t"
               : row.facts.comm_operation != CommOperation::none ? "o"
               : row.facts.alignment != Alignment::unknown       ? "a"
               : row.facts.library != KernelLibrary::unknown     ? "l"
                                                                 : "i";
        CHECK(seen.insert(key).second);
    }
    CHECK(name_of(KernelFamily::loss) == "loss");
    CHECK(name_of(KernelFamily::split) == "split");
    CHECK(name_of(CommOperation::other) == "other");
    CHECK(name_of(CommSource::custom) == "custom");
    CHECK(name_of(Precision::mixed) == "mixed");
    CHECK(name_of(KernelLibrary::flash_attention) == "flash_attention");
}

TEST_CASE("a family's name tells whether its kernels multiply matrices", "[kernel_class]") {
    CHECK(products_of("gemm") == Products::always);
    CHECK(products_of("rnn") == Products::perhaps);
    CHECK(products_of("a family of tomorrow") == Products::perhaps);
    CHECK(products_of("split") == Products::never);
    CHECK_FALSE(classify("ampere_sgemm_128x64_tn").eligible() == classify("softmax_kernel").eligible());
}

}  // namespace kernel_class_test
