// The peaks of GPUs: by names as drivers give them, of exactly that GPU, dense.
#include <catch2/catch.hpp>

#include "analysis/kernel/peak.h"

namespace peak_test {

using namespace gpushim::analysis;

TEST_CASE("a GPU has the peak of its data sheet, by the name that its driver gives", "[peak]") {
    const auto tflops = [](const char* name, Precision precision) {
        return peak_flops_per_s(name, precision).value_or(0) / 1e12;
    };
    CHECK(tflops("Tesla V100-SXM2-16GB", Precision::fp16) == Approx(125));
    CHECK(tflops("Tesla V100-PCIE-32GB", Precision::fp32) == Approx(14));
    CHECK(tflops("Tesla T4", Precision::fp16) == Approx(65));
    CHECK(tflops("NVIDIA A100-SXM4-80GB", Precision::bf16) == Approx(312));
    CHECK(tflops("A100-SXM4-40GB", Precision::tf32) == Approx(156));
    CHECK(tflops("NVIDIA A100 80GB PCIe", Precision::fp64) == Approx(19.5));
    CHECK(tflops("NVIDIA A10", Precision::bf16) == Approx(125));
    CHECK(tflops("NVIDIA L40S", Precision::fp8) == Approx(733));
    CHECK(tflops("NVIDIA H100 80GB HBM3", Precision::bf16) == Approx(989.4));
    CHECK(tflops("NVIDIA H100 PCIe", Precision::bf16) == Approx(756));
    CHECK(tflops("NVIDIA H100 NVL", Precision::bf16) == Approx(835.5));
    CHECK(tflops("NVIDIA H200", Precision::fp8) == Approx(1978.9));
    CHECK(tflops("NVIDIA B200", Precision::fp4) == Approx(9000));
    CHECK(tflops("NVIDIA GeForce RTX 4090", Precision::fp16) == Approx(165.2));
}

TEST_CASE("of another GPU, a part of one, or another precision no peak is said", "[peak]") {
    for (const char* name :
         {"", "Simulated GPU", "Simulated A100-SXM4-80GB", "NVIDIA A100-SXM-64GB", "NVIDIA A10G",
          "NVIDIA A10-24Q", "NVIDIA A100-SXM4-40GB MIG 1g.5gb", "GRID A100-40C", "NVIDIA H100", "NVIDIA H20",
          "NVIDIA H800", "NVIDIA GeForce RTX 4090 D", "NVIDIA GeForce RTX 4090 Laptop GPU",
          "NVIDIA GeForce RTX 3090 Ti"}) {
        INFO(name);
        CHECK(!is_peak_known(name));
        CHECK(!peak_flops_per_s(name, Precision::fp16));
    }
    CHECK(is_peak_known("Tesla V100-SXM2-16GB"));
    CHECK(!peak_flops_per_s("Tesla V100-SXM2-16GB", Precision::bf16));
    CHECK(!peak_flops_per_s("NVIDIA A100-SXM4-80GB", Precision::fp8));
    for (const Precision none : {Precision::unknown, Precision::mixed, Precision::int8, Precision::int4})
        CHECK(!peak_flops_per_s("NVIDIA H200", none));
}

// A figure for sparse matrices, taken by mistake, would stand out by a factor of two.
TEST_CASE("half the bits are twice as fast on the tensor cores of every row", "[peak]") {
    for (const PeakRow& row : peak_rows()) {
        INFO(row.words);
        if (row.bf16 > 0) CHECK(row.bf16 == row.fp16);
        if (row.tf32 > 0) CHECK(row.fp16 / row.tf32 == Approx(2).epsilon(0.03));
        if (row.fp8 > 0) CHECK(row.fp8 / row.fp16 == Approx(2).epsilon(0.03));
        if (row.fp4 > 0) CHECK(row.fp4 / row.fp8 == Approx(2).epsilon(0.03));
        if (row.fp64 > 0) CHECK(row.fp64 <= row.fp32);
        CHECK(row.fp32 <= row.fp16);
        CHECK(is_peak_known(row.words));
    }
}

}  // namespace peak_test
