// A kernel's name as a person would say it: demangled, without namespaces and parameters, templates folded to
// what is done with which type. Different kernels may get one short name: they do the same in another size.
//
//   void at::native::elementwise_kernel<128, 4, … MulFunctor<float> …>(int, …)    elementwise:
//   MulFunctor<float> void vllm::rotary_embedding_kernel<c10::BFloat16, true>(long const*, …)
//   rotary_embedding_kernel<BFloat16> sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_… as it is
//
// Pure; any thread; some tens of microseconds for each name.
#pragma once

#include <string>
#include <string_view>

namespace gpushim::analysis {

[[nodiscard]] std::string short_name(std::string_view name);

// For a line or a cell of text: with … in the middle where it is longer than that.
constexpr size_t kWidestKernel = 44;
[[nodiscard]] std::string cut_short_name(std::string_view name);

}  // namespace gpushim::analysis
