// Names as profilers show them, of libraries from Volta to Blackwell, and what each says.
#include <catch2/catch.hpp>
#include <span>

#include "kernel_said.h"

namespace kernel_names_test {

using namespace gpushim::analysis;

namespace {

struct Said {
    const char* name;
    const char* what;  // family, precision, tensor core
};

void check(std::span<const Said> names) {
    for (const Said& row : names) {
        INFO(row.name);
        CHECK(said_by(row.name) == row.what);
    }
}

constexpr Said kVoltaAndTuring[] = {
    {"volta_sgemm_128x64_nn", "gemm fp32 no"},
    {"volta_h884gemm_256x64_ldg8_nn", "gemm fp16 yes"},
    {"volta_fp16_s884gemm_fp16_128x128_ldg8_f2f_tn", "gemm fp16 yes"},
    {"volta_s884gemm_fp16_128x128_ldg8_nt", "gemm fp16 yes"},
    {"cutlass_70_tensorop_f16_s884gemm_f16_128x128_32x2_nn_align8", "gemm fp16 yes"},
    {"volta_cgemm_32x64_tn", "gemm fp32 no"},
    {"volta_scudnn_128x64_relu_interior_nn_v1", "convolution fp32 no"},
    {"volta_scudnn_winograd_128x128_ldg1_ldg4_relu_tile148t_nt_v1", "convolution fp32 no"},
    {"volta_fp16_scudnn_fp16_128x64_relu_interior_nn_v1", "convolution fp16 no"},
    {"volta_fp16_s884cudnn_fp16_256x64_ldg8_relu_f2f_exp_small_nhwc2nchw_tn_v1", "convolution fp16 yes"},
    {"volta_s884cudnn_fp16_128x128_ldg8_relu_exp_interior_nhwc_tn_v1", "convolution fp16 yes"},
    {"Volta_hmma_implicit_gemm_fprop_fp32_nhwc_128x128x64x1_1x3x3x0x1", "convolution fp16 yes"},
    {"turing_fp16_s1688gemm_fp16_128x64_sliced1x2_ldg8_f2f_tn", "gemm fp16 yes"},
    {"turing_h1688gemm_128x128_ldg8_nt", "gemm fp16 yes"},
    {"turing_s1688cudnn_fp16_256x64_ldg8_relu_f2f_exp_small_nhwc_tn_v1", "convolution fp16 yes"},
    {"cutlass_75_tensorop_bf16_s1688gemm_bf16_256x128_nn_align1", "gemm bf16 yes"},
    {"void cutlass::Kernel2<cutlass_75_wmma_tensorop_f16_s161616gemm_f16_16x16_128x2_tn_align8>"
     "(cutlass_75_wmma_tensorop_f16_s161616gemm_f16_16x16_128x2_tn_align8::Params)",
     "gemm fp16 yes"},
    {"sm75_xmma_fprop_implicit_gemm_f16f16_f16f16_f16_nhwckrsc_nhwc_tilesize128x128x64_stage1_warpsize2x2x1_"
     "g1_tensor16x8x8_t1r1s1",
     "convolution fp16 yes"},
    {"void cudnn::detail::implicit_convolve_sgemm<float, float, 1024, 5, 5, 3, 3, 3, 1, true, false, true>"
     "(int, int, int, float const*, int, float*)",
     "convolution fp32 no"},
    {"void cudnn::detail::dgrad_engine<float, 128, 6, 7, 3, 3, 5, false>(int, int, int, float const*)",
     "convolution fp32 unknown"},
};

constexpr Said kAmpereAndAda[] = {
    {"ampere_sgemm_32x128_tn", "gemm fp32 no"},
    {"ampere_dgemm_64x64_nn", "gemm fp64 no"},
    {"ampere_igemm_int8_128x128_ldg4_nt", "gemm int8 no"},
    {"ampere_fp16_s16816gemm_fp16_128x128_ldg8_relu_f2f_stages_32x5_tn", "gemm fp16 yes"},
    {"ampere_fp16_s1688gemm_fp16_256x64_ldg8_f2f_nt", "gemm fp16 yes"},
    {"ampere_bf16_s16816gemm_bf16_64x64_sliced1x2_ldg8_relu_f2f_stages_64x5_tn", "gemm bf16 yes"},
    {"ampere_bf16_s1688gemm_bf16_128x64_sliced1x2_ldg8_relu_f2f_tn", "gemm bf16 yes"},
    {"ampere_int8_i16832gemm_int8_256x128_ldg16_relu_stages_64x3_nt", "gemm int8 yes"},
    {"void cutlass::Kernel<cutlass_80_tensorop_s1688gemm_128x128_32x3_tn_align4>"
     "(cutlass_80_tensorop_s1688gemm_128x128_32x3_tn_align4::Params)",
     "gemm tf32 yes"},
    {"cutlass_tensorop_s1688tf32gemm_256x128_16x3_nn_align4", "gemm tf32 yes"},
    {"_ZN7cutlass7Kernel2I66cutlass_80_tensorop_f16_s16816gemm_relu_f16_256x128_32x3_tn_align8EEvNT_6ParamsE",
     "gemm fp16 yes"},
    {"cutlass_80_tensorop_i16832gemm_s8_256x128_64x3_tn_align16", "gemm int8 yes"},
    {"cutlass_80_tensorop_d884gemm_64x128_16x3_nn_align1", "gemm fp64 yes"},
    {"void cutlass::Kernel2<cutlass_80_simt_sgemm_256x128_8x4_nn_align1>(T1::Params)", "gemm fp32 no"},
    {"void cutlass__5x_cudnn::Kernel<cutlass_tensorop_f16_s16816fprop_optimized_f16_256x128_32x3_nhwc_align8>"
     "(cutlass_tensorop_f16_s16816fprop_optimized_f16_256x128_32x3_nhwc_align8::Params)",
     "convolution fp16 yes"},
    {"sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize128x128x8_stage3_warpsize2x2x1_ffma_aligna4_alignc4_"
     "execute_kernel__5x_cublas",
     "gemm fp32 no"},
    {"sm80_xmma_fprop_implicit_gemm_tf32f32_tf32f32_f32_nhwckrsc_nchw_tilesize128x128x16_stage4_"
     "warpsize2x2x1_g1_tensor16x8x8_alignc4_execute_kernel__5x_cudnn",
     "convolution tf32 yes"},
    {"sm80_xmma_wgrad_implicit_gemm_indexed_f16f16_f16f32_...", "convolution fp16 yes"},
    {"sm80_xmma_fprop_implicit_gemm_f16f16_f16f32_f32_nhwckrsc_nhwc_tilesize256x64x32_stage3_warpsize4x1x1_"
     "g1_tensor16x8x16_execute_kernel__5x_cudnn",
     "convolution fp16 yes"},
    {"sm80_xmma_fprop_implicit_gemm_interleaved_i8i8_i8i32_f32_nchw_vect_c_32kcrs_vect_c_32_nchw_vect_c_32_"
     "tilesize64x96x64_stage3_warpsize2x2x1_g1_tensor16x8x32_t1r3s3",
     "convolution int8 yes"},
    {"sm89_xmma_gemm_e4m3bf16_e4m3f32_f32_tn_n_tilesize128x64x64_stage4_warpsize2x2x1_tensor16x8x32_algo2_"
     "execute_kernel__5x_cublas",
     "gemm fp8 yes"},
    {"void marlin::Marlin<1125899906909960l, 128, 1, 8, 8, true, 4, 8, false>(int4 const*, int4 const*)",
     "gemm mixed yes"},
    {"void gemmSN_TN_kernel<float, 128, 16, 2, 4, 4, 4, true, cublasGemvTensorStridedBatched<float const>>",
     "gemm fp32 no"},
    {"void gemv2T_kernel_val<int, int, __half, __half, __half, float, 128, 16, 4, 4, false, false>(int)",
     "gemm fp16 no"},
    {"std::enable_if<!(false), void>::type internal::gemvx::kernel<int, int, __nv_bfloat16, __nv_bfloat16, "
     "__nv_bfloat16, float, false, true, true, false, 7, false>(cublasGemvParams<float>)",
     "gemm bf16 no"},
    {"void cublasLt::splitKreduce_kernel<32, 16, int, float, __nv_bfloat16, float, __nv_bfloat16, "
     "false>(int)",
     "reduction bf16 unknown"},
};

constexpr Said kHopperAndBlackwell[] = {
    {"nvjet_hsh_256x128_64x4_1x2_h_bz_coopA_NNT", "gemm fp16 yes"},
    {"nvjet_tst_192x192_64x4_2x1_v_bz_coopB_TNN", "gemm bf16 yes"},
    {"nvjet_sm90_hss_320x128", "gemm fp16 yes"},
    {"nvjet_sm90_tss_64x8_64x16_4x1_v_bz_TNT", "gemm bf16 yes"},
    {"nvjet_qqtst_112x128_128x7_2x1_v_bz_coopA_algo2_TNN", "gemm fp8 yes"},
    {"nvjet_sss_tf32_128x256_TNT", "gemm tf32 yes"},
    {"nvjet_sm100_tst_64x16_64x16_2x4_2cta_h_bz_splitK_TNT", "gemm bf16 yes"},
    {"nvjet_sm100_qqtst_128x256_128x6_2x1_2cta_v_bz_bias_TNT", "gemm fp8 yes"},
    {"nvjet_sm100_oohsh_128x256_256x5_2x2_2cta_h_bz_Avec16UE4M3_Bvec16UE4M3_TNT", "gemm fp4 yes"},
    {"nvjet_sm120_tst_mma_64x64x128_3_32x32x128_tmaAB_alignCD4_bz_TNNN", "gemm bf16 yes"},
    {"nvjet_sm120_biu_mma_64x64x128_3_32x32x128_tmaAB_bz_TNNN", "gemm int8 yes"},
    {"sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_warpgroupsize1x1x1_execute_segment_k_off_"
     "kernel__5x_cublas",
     "gemm bf16 yes"},
    {"sm90_xmma_gemm_f32f32_tf32f32_f32_tn_n_tilesize128x128x32_warpgroupsize1x1x1_execute_segment_k_off_"
     "kernel__5x_cublas",
     "gemm tf32 yes"},
    {"sm90_xmma_gemm_f64f64_f64f64_f64_nn_n_tilesize64x128x16_stage3_warpsize2x2x1_tensor16x8x8_execute_"
     "kernel__5x_cublas",
     "gemm fp64 yes"},
    {"cutlass3x_sm90_tensorop_h64x128x16gemm_f16_f16_f16_void_f16_128x128x64_1x1x1_0_nnn_align8",
     "gemm fp16 yes"},
    {"cutlass3x_sm100_tensorop_gemm_bf16_bf16_f32_bf16_bf16_128x128x64_0x0x1_0_tnn_align8_1sm",
     "gemm bf16 yes"},
    {"cutlass3x_sm100_tensorop_gemm_64x128f32xe4m3_1x128f32xe4m3_f32_f16_f16_64x128x128_1x1x1_0_nnn_align16_"
     "1sm",
     "gemm fp8 yes"},
    {"cutlass3x_sm100_simt_sgemm_f32_f32_f32_f32_f32_64x128x16_1x1x1_3_tnn_align1_bias_f32_relu",
     "gemm fp32 no"},
    {"cutlass3x_sm100_bstensorop_s256x192x64gemm_block_scaled_ue4m3xf4_ue4m3xf4_f32_f16_f16_256x192x256_0_"
     "tnn_align32_o_vs16_2sm_bias_f16_relu",
     "gemm fp4 yes"},
    {"void cutlass::device_kernel<at::cuda::detail::enable_3x_kernel_for_sm10<cutlass::gemm::kernel::"
     "GemmUniversal<cute::tuple<int, int, int>, cutlass::gemm::collective::CollectiveMma<cutlass::gemm::"
     "MainloopSm100ArrayTmaUmmaWarpSpecialized<(int)3, (int)8, (int)2>, cutlass::bfloat16_t>>>>(T1::Params)",
     "gemm bf16 yes"},
    {"bmm_E2m1_E2m1E2m1_Fp32_bA16_bB16_bC16_t128x64x256u2_s6_et128x64_m128x64x64_sm100f", "gemm fp4 yes"},
    {"bmm_Bfloat16_E2m1E2m1_Fp32_bA16_bB16_t128x32x256_s5_sm100f", "gemm fp4 yes"},
    {"bmm_E4m3_E4m3E4m3_Fp32_t128x64x128u2_s6_et64x64_m64x64x32_sm100f", "gemm fp8 yes"},
    {"bmm_MxE4m3_MxE2m1MxE4m3_Fp32_bA32_bB32_bC32_t128x16x256u2_sm100f", "gemm mixed yes"},
    {"void deep_gemm::fp8_gemm_kernel<4096u, 7168u, 128u, 160u, 128u, 0u, 64u, 9u, 4u, 128u, 128u, 1u, true, "
     "(deep_gemm::GemmType)1>(__nv_bfloat16*, float*, int*, unsigned int, CUtensorMap_st)",
     "gemm fp8 yes"},
    {"cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_7_64x128x128_4x1x1_kernel0_0",
     "attention mixed yes"},
    {"cudnn_generated_fort_native_sdpa_sm100_flash_fprop_f16_knob_0", "attention mixed yes"},
    {"fmhaSm100fKernel_QkvBfloat16OBfloat16H128PagedKvSlidingOrChunkedCausalP64VarSeqQ128Kv128Persistent",
     "attention bf16 yes"},
    {"flash_fwd_sm100_bf16_head_dim128_tile128x128_threads384_causal_kernel_cutlass_kernel_flash_attncute",
     "attention bf16 yes"},
    {"kernel_cutlass_kernel_flash_attncuteflash_bwd_sm100FlashAttentionBackwardSm100_object_at__tensor0000_0",
     "attention unknown yes"},
};

constexpr Said kAttention[] = {
    {"void pytorch_flash::flash_fwd_kernel<Flash_fwd_kernel_traits<128, 128, 64, 4, false, false, "
     "cutlass::half_t, Flash_kernel_traits<128, 128, 64, 4, cutlass::half_t> >, false, false, false>"
     "(pytorch_flash::Flash_fwd_params)",
     "attention fp16 yes"},
    {"void flash::flash_fwd_splitkv_kernel<Flash_fwd_kernel_traits<(int)128, (int)64, (int)128, (int)4, "
     "(bool)0, (bool)0, cutlass::bfloat16_t>, (bool)0>(flash::Flash_fwd_params)",
     "attention bf16 yes"},
    {"void pytorch_flash::flash_bwd_dq_dk_dv_loop_seqk_parallel_kernel<pytorch_flash::Flash_bwd_kernel_traits"
     "<64, 128, 128, 8, cutlass::bfloat16_t>, true>(pytorch_flash::Flash_bwd_params)",
     "attention bf16 yes"},
    {"void pytorch_flash::flash_bwd_dot_do_o_kernel<true, pytorch_flash::Flash_bwd_kernel_traits<64, 128, "
     "128, "
     "8, cutlass::bfloat16_t>>(pytorch_flash::Flash_bwd_params)",
     "attention bf16 unknown"},
    {"void cutlass::device_kernel<flash::enable_sm90_or_later<flash::FlashAttnFwdSm90<flash::Collective"
     "MainloopFwdSm90<2, cutlass::bfloat16_t>>>>(T1::Params)",
     "attention bf16 yes"},
    {"fmha_cutlassF_f16_aligned_64x128_rf_sm80(PyTorchMemEffAttention::AttentionKernel<cutlass::half_t, "
     "cutlass::arch::Sm80, true, 64, 128, 128, true, true>::Params)",
     "attention fp16 yes"},
    {"fmha_cutlassB_bf16_aligned_128x128_k128_sm80(PyTorchMemEffAttention::AttentionBackwardKernel<cutlass::"
     "bfloat16_t>::Params)",
     "attention bf16 yes"},
    {"fmha_cutlassF_f32_aligned_64x64_rf_sm80(PyTorchMemEffAttention::AttentionKernel<float>::Params)",
     "attention fp32 unknown"},
    {"fmha_cutlassF_f16_aligned_64x64_rf_sm50(PyTorchMemEffAttention::AttentionKernel<cutlass::half_t>)",
     "attention fp16 no"},
    {"void flashinfer::BatchDecodeWithPagedKVCacheKernel<(flashinfer::PosEncodingMode)0, (unsigned int)2, "
     "__nv_bfloat16>(T1)",
     "attention bf16 unknown"},
    {"void vllm::paged_attention_v2_kernel<unsigned short, unsigned short, 128, 16, 128>(float*)",
     "attention unknown unknown"},
    {"triton_tem_fused_flex_attention_backward_split_transpose_3", "attention unknown unknown"},
};

constexpr Said kOthers[] = {
    {"void at::native::(anonymous namespace)::cunn_SoftMaxForward<8, c10::Half, float, c10::Half, "
     "at::native::(anonymous namespace)::SoftMaxForwardEpilogue>(c10::Half*, c10::Half const*, int)",
     "softmax fp16 unknown"},
    {"_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_11FillFunctorIfEENS_6detail5ArrayIPcLi1EEEEEviT0_"
     "T1_",
     "fill fp32 unknown"},
    {"void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::(anonymous namespace)::"
     "FusedOptimizerTensorListMetadata<4>, at::native::(anonymous namespace)::FusedAdamMathFunctor<float, 4, "
     "(at::native::ADAM_MODE)0, false>, float const*, double, double, double, double, double, bool>(int)",
     "optimizer fp32 unknown"},
    {"void multi_tensor_apply_kernel<TensorListMetadata<4>, AdamFunctor<float>, float, float>(int, int)",
     "optimizer fp32 unknown"},
    {"void multi_tensor_apply_kernel<TensorListMetadata<1>, L2NormFunctor<float>, float*>(int, int "
     "volatile*)",
     "reduction fp32 unknown"},
    {"void at::native::(anonymous namespace)::distribution_elementwise_grid_stride_kernel<float, 4, void "
     "at::native::templates::cuda::normal_and_transform<c10::BFloat16, float>>(long)",
     "random bf16 unknown"},
    {"void at::native::bfloat16_copy_kernel_cuda_instance", "copy bf16 unknown"},
    {"void at::native::detail::split_with_sizes_copy_out_contiguous_no_cast_kernel(char **, char **)",
     "split unknown unknown"},
    {"void cudnn::engines_precompiled::nchwToNhwcKernel<__half, __half, float, (bool)0, (bool)1, "
     "(cudnnKernelDataType_t)0>(cudnn::ops::nchw2nhwc_params_t<float>, T1 const*, T2*)",
     "layout_conversion fp16 unknown"},
    {"void nhwcToNchwKernel<float, float, float, true, false>(int, int, int, int, float const*, float*)",
     "layout_conversion fp32 unknown"},
    // Products of 8 bits need their operands narrowed and turned: no other layout of tensors saves that.
    {"void lab::per_channel_cast_and_transpose<256, 128, true>(void const*, float const*, int)",
     "elementwise unknown unknown"},
    {"void transformer_engine::detail::cast_transpose_general_kernel<true, float, __nv_bfloat16>(int)",
     "elementwise bf16 unknown"},
    {"void lab::quantize_transpose_kernel<__nv_bfloat16>(int)", "elementwise mixed unknown"},
    {"input_broadcast_transpose_kernel", "layout_conversion unknown unknown"},
    {"void cudnn::detail::bn_fw_tr_1C11_singleread<float, 512, true, 1, 2, 14>(float)",
     "normalisation fp32 unknown"},
    {"void cudnn::batchnorm_bwtr_nhwc_semiPersist<__half, float, 512>(int)", "normalisation fp16 unknown"},
    {"void transformer_engine::normalization::rmsnorm_fwd_general_kernel<transformer_engine::normalization::"
     "Kernel_traits<__nv_bfloat16>>(int)",
     "normalisation bf16 unknown"},
    {"void flashinfer::norm::FusedAddRMSNormKernel<8u, __nv_bfloat16>(__nv_bfloat16*)",
     "normalisation bf16 unknown"},
    {"void RNN_blockPersist_fp_LSTM_HMMA<__half, __half, float, 1>(int)", "rnn fp16 yes"},
    {"void elemWiseRNNcell<float, float, float, (cudnnRNNMode_t)2>(int)", "rnn fp32 unknown"},
    {"void cudnn::ops::pooling_bw_kernel_max<__half, float, cudnn::maxpooling_func<float>, 8, false>(int)",
     "pooling fp16 unknown"},
    {"void tensorflow::functor::SwapDimension1And2InTensor3UsingTiles<unsigned int, 1024, 1024, 2, false>"
     "(unsigned int const*, tensorflow::functor::Dimension<3>, unsigned int*)",
     "layout_conversion unknown unknown"},
    {"void tensorflow::BiasGradNCHW_SharedAtomics<float>(float const*, float*, int, int, int, int)",
     "reduction fp32 unknown"},
    {"void Eigen::internal::EigenMetaKernel<Eigen::TensorEvaluator<Eigen::TensorAssignOp<Eigen::TensorMap<"
     "Eigen::Tensor<float, 1, 1, long>, 16, Eigen::MakePointer>, Eigen::TensorCwiseBinaryOp<Eigen::internal::"
     "scalar_sum_op<float const, float const> > >, Eigen::GpuDevice>, long>(long)",
     "elementwise fp32 unknown"},
    {"void cusparse::csrmm_v2_kernel<cusparse::CsrMMPolicy<int, float, float, float>, true, false>(int)",
     "sparse fp32 unknown"},
    {"void vllm::reshape_and_cache_flash_kernel<__nv_bfloat16, __nv_bfloat16, (vllm::Fp8KVCacheDataType)0>"
     "(__nv_bfloat16 const*)",
     "copy bf16 unknown"},
    {"void vllm::rotary_embedding_kernel<c10::BFloat16, true>(long const*)", "elementwise bf16 unknown"},
    {"void vllm::act_and_mul_kernel<c10::BFloat16, &vllm::silu_kernel<c10::BFloat16>, true>(c10::BFloat16*)",
     "elementwise bf16 unknown"},
    {"triton_poi_fused__scaled_dot_product_flash_attention_add_mul_permute_stack_sub_unbind_view_7",
     "elementwise unknown unknown"},
    {"triton_red_fused__to_copy_add_copy__fused_add_rms_norm_moe_forward_shared_3",
     "normalisation unknown unknown"},
    {"triton_per_fused__softmax_sub_2", "softmax unknown unknown"},
    {"triton_tem_fused_addmm_t_view_9", "gemm unknown unknown"},
    {"loop_multiply_fusion_1", "elementwise unknown unknown"},
    {"input_reduce_fusion_19", "reduction unknown unknown"},
    {"gemm_fusion_dot_265", "gemm unknown unknown"},
    {"fusion_7", "other unknown unknown"},
    {"fused_moe_kernel", "gemm unknown unknown"},
    {"void dot_kernel<float, 128, 0, cublasDotParams<cublasGemvTensor<float const>>>(int)",
     "reduction fp32 no"},
    {"void AddmmActivation<float>(int)", "elementwise fp32 unknown"},
    {"void cuComputeGradInput<float, float, c10::Half>(int)", "normalisation fp16 unknown"},
    {"void at::native::sbtopk::gatherTopK<float, unsigned int, 1, false>(int)", "sort fp32 unknown"},
    {"Mul_GPU_DT_FLOAT_DT_FLOAT_kernel", "elementwise fp32 unknown"},
    {"void tensorflow::functor::UnsortedSegmentCustomKernel<float, int>(int)", "reduction fp32 unknown"},
    {"void tensorflow::functor::FillPhiloxRandomKernelLaunch<tensorflow::random::UniformDistribution<float>>",
     "random fp32 unknown"},
    {"void at::native::(anonymous namespace)::nll_loss_forward_reduce_cuda_kernel_2d<float, float, "
     "long>(int)",
     "loss fp32 unknown"},
    {"void vllm::fusedAddPropertyKernel<float>(int)", "other fp32 unknown"},
};

}  // namespace

TEST_CASE("names of each generation say family, precision and tensor cores", "[kernel]") {
    check(kVoltaAndTuring);
    check(kAmpereAndAda);
    check(kHopperAndBlackwell);
    check(kAttention);
    check(kOthers);
    CHECK(std::size(kVoltaAndTuring) + std::size(kAmpereAndAda) + std::size(kHopperAndBlackwell) +
              std::size(kAttention) + std::size(kOthers) >=
          110);
}

// Of PyTorch's AdamW as it comes, which is neither called fused nor Adam, and of one tensor at a time.
TEST_CASE("optimizers whose names do not say so", "[kernel]") {
    constexpr Said kNames[] = {
        {"void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::(anonymous "
         "namespace)::TensorListScalarListMetadata<float, 3>, at::native::(anonymous "
         "namespace)::PointwiseOpScalarListFunctor<float, 3, 3, 0>, std::divides<float> >(float)",
         "optimizer fp32 unknown"},
        {"void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::(anonymous "
         "namespace)::TensorListMetadata<2>, at::native::(anonymous "
         "namespace)::TernaryOpScalarFunctor<float, "
         "2, 2, 0>, at::native::LerpFunctor<float>, float>(float)",
         "optimizer fp32 unknown"},
        {"void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::(anonymous "
         "namespace)::TensorListMetadata<1>, at::native::LpNormFunctor<float, (at::native::NormType)1, "
         "float, 1, 1, 0>, float*, int>(float*)",
         "reduction fp32 unknown"},
    };
    check(kNames);
}

// Of one iteration of a recommender on two A100s: everything it ran had a family.
TEST_CASE("a recommender's names", "[kernel]") {
    constexpr Said kNames[] = {
        {"void split_embedding_backward_codegen_rowwise_adagrad_weighted_kernel_warp_per_row_1<c10::Half, "
         "float, "
         "c10::Half, 2ul, 32>(at::GenericPackedTensorAccessor<float, 2ul, at::RestrictPtrTraits, long>)",
         "embedding fp16 unknown"},
        {"void fbgemm_gpu::permute_2D_lengths_kernel<int>(int, int, int const*, int const*, int*)",
         "layout_conversion unknown unknown"},
        {"void fbgemm_gpu::(anonymous namespace)::_compute_FP8_quantize_cuda_kernel<float>(float const*)",
         "elementwise mixed unknown"},
        {"void scal_kernel<float, float, 1, false, 6, 5, 5, 3>(cublasTransposeParams<float>, float const*)",
         "elementwise fp32 unknown"},
        {"void sgemm_largek_lds64<true, true, 6, 3, 4, 5, 2, 66>(float*, float const*)", "gemm fp32 no"},
        {"void at::native::vectorized_elementwise_kernel<4, at::native::nan_to_num_kernel_cuda("
         "at::TensorIteratorBase&, c10::optional<double>, c10::optional<double>, c10::optional<double>)::"
         "{lambda()#1}::operator()() const::{lambda()#2}::operator()() const::{lambda(float)#1}, "
         "at::detail::Array<char*, 2> >(int)",
         "elementwise fp32 unknown"},
        {"void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::NormTwoOps<float, "
         "float, float>, unsigned int, float, 4> >(at::native::ReduceOp<float>)",
         "reduction fp32 unknown"},
        {"void at::native::(anonymous namespace)::CatArrayBatchedCopy<float, unsigned int, 2, 64, "
         "64>(float*)",
         "concatenate fp32 unknown"},
        {"void at::native::(anonymous namespace)::GammaBetaBackwardCUDAKernel<float, float>(long, long)",
         "normalisation fp32 unknown"},
        {"void cub::DeviceRadixSortOnesweepKernel<cub::DeviceRadixSortPolicy<long, int, int>::Policy800, "
         "false, long, int, int, int>(int*, int*)",
         "sort unknown unknown"},
        {"void at_cuda_detail::cub::DeviceScanInitKernel<at_cuda_detail::cub::ScanTileState<long, true> >("
         "at_cuda_detail::cub::ScanTileState<long, true>, int)",
         "reduction unknown unknown"},
        {"void at::native::(anonymous namespace)::indexSelectLargeIndex<long, long, unsigned int, 1, 1, -2, "
         "true>(at::cuda::detail::TensorInfo<long, unsigned int>)",
         "embedding unknown unknown"},
        {"void (anonymous namespace)::elementwise_kernel_with_index<int, at::native::arange_cuda_out("
         "c10::Scalar const&)::{lambda()#1}::operator()() const::{lambda(long)#1}>(int)",
         "elementwise unknown unknown"},
        {"void (anonymous namespace)::softmax_warp_forward<float, float, float, 1, false, false>(float*)",
         "softmax fp32 unknown"},
    };
    check(kNames);
}

TEST_CASE("AMD's and Triton's products use matrix cores where their names say so", "[kernel]") {
    constexpr Said kNames[] = {
        {"Cijk_Alik_Bljk_BBS_BH_Bias_SAV_MT128x64x32_MI16x16x1_SN_LDSB1_AFC1", "gemm bf16 yes"},
        {"Cijk_Ailk_Bljk_HHS_BH_MT64x64x32_MI32x32x1_SN", "gemm fp16 yes"},
        {"Cijk_Ailk_Bljk_SB_MT64x64x8_SE_K1", "gemm fp32 unknown"},
        {"Cijk_Alik_Bljk_B_BS_BH_Bias_HA_S_SAV_UserArgs_MT16x16x128_MI16x16x1_SN", "gemm bf16 yes"},
        {"Cijk_Ailk_Bljk_HBH_MT128x128x16_SE_K1", "gemm fp16 unknown"},
        {"Cijk_Ailk_Bljk_DB_MT64x64x16_SE_K1", "gemm fp64 unknown"},
        {"Cijk_Ailk_Bljk_CB_MT64x64x16_SE_K1", "gemm unknown unknown"},
        {"igemm_wrw_gtcx2_nhwc_bf16_bx0_ex1_bt256x128x16_wt32x32x8", "gemm bf16 yes"},
        {"igemm_fwd_gtcx_nhwc_fp32_bx0_ex0_bt128x64x16", "gemm fp32 yes"},
        {"igemm_bwd_gtc_nchw_fp16_bx0", "gemm fp16 unknown"},
        {"my_attention_mfma16_kernel", "attention unknown yes"},
        {"_ZN2ck6device19kernel_gemm_xdlops_vIfEEvv", "gemm unknown yes"},
        {"_matmul_ogs_NNT_bf16xbf16xmxfp4_32x64x128x1", "gemm mixed yes"},
        {"attn_fwd", "attention unknown unknown"},
        // Letters that only look like it.
        {"SubTensorOpWithCastTensor1d", "other unknown unknown"},
        {"cutlass_80_tensorop_s16816gemm_bf16", "gemm bf16 yes"},
        {"void cutlass::Kernel<cutlass::arch::OpClassTensorOp, cutlass::half_t>", "other fp16 yes"},
    };
    check(kNames);
}

}  // namespace kernel_names_test
