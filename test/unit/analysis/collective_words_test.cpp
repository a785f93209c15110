#include "analysis/importer/collective_words.h"

#include <catch2/catch.hpp>

namespace collective_words_test {

using namespace gpushim::analysis;

TEST_CASE("profilers' names of collectives are NCCL's functions", "[collective_words]") {
    CHECK(api_of_collective("allreduce") == "ncclAllReduce");
    CHECK(api_of_collective("_allgather_base") == "ncclAllGather");
    CHECK(api_of_collective("nccl:_reduce_scatter_base") == "ncclReduceScatter");
    CHECK(api_of_collective("all_to_allv") == "ncclAlltoAll");
    CHECK(api_of_collective("nccl:all_reduce") == "ncclAllReduce");
    CHECK(api_of_collective("send") == "ncclSend");
    CHECK(api_of_collective("wait") == "");
}

TEST_CASE("kernels of NCCL old and new are told by name, others are none", "[collective_words]") {
    CHECK(api_of_kernel("ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)") ==
          "ncclAllReduce");
    CHECK(api_of_kernel("ncclKernel_AllReduce_RING_LL_Sum_float(ncclDevComm*, unsigned long, ncclWork*)") ==
          "ncclAllReduce");
    CHECK(api_of_kernel("ncclAllReduceRingLLKernel_sum_f32(ncclColl)") == "ncclAllReduce");
    CHECK(api_of_kernel("ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(ncclDevComm*, unsigned long)") ==
          "SendRecv");
    CHECK(api_of_kernel("ncclDevKernel_ReduceScatter_Sum_f32_RING_LL(x)") == "ncclReduceScatter");
    CHECK(api_of_kernel("ampere_sgemm_128x64_tn") == "");
    CHECK(api_of_kernel("void vllm::cross_device_reduce_1stage<float, 2>(x)") == "");
}

TEST_CASE("the type is told by names of kernels that reduce", "[collective_words]") {
    const auto type = [](const char* kernel) {
        return type_of_kernel(kernel).value_or(DataType{-1, 0}).nccl;
    };
    CHECK(type("ncclKernel_AllReduce_RING_LL_Sum_float(ncclDevComm*, unsigned long, ncclWork*)") == 7);
    CHECK(type("ncclAllReduceRingLLKernel_sum_f16(ncclColl)") == 6);
    CHECK(type("ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL(x)") == 9);
    CHECK(type("ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(ncclDevComm*, unsigned long)") == -1);
    CHECK(type("ncclKernel_AllGather_RING_LL_Sum_int8_t(ncclDevComm*, unsigned long, ncclWork*)") == -1);
    CHECK(type("ampere_sgemm_128x64_tn") == -1);
}

TEST_CASE("types are those that NCCL knows, with their sizes", "[collective_words]") {
    REQUIRE(data_type("BFloat16"));
    CHECK(data_type("BFloat16")->nccl == 9);
    CHECK(data_type("BFloat16")->bytes == 2);
    CHECK(data_type("Long")->bytes == 8);
    CHECK_FALSE(data_type("ComplexFloat"));
}

TEST_CASE("a list of ranks is read, one that is cut short is none", "[collective_words]") {
    CHECK(ranks_in("[0, 1, 12]") == std::vector<int64_t>{0, 1, 12});
    CHECK(ranks_in("[3]") == std::vector<int64_t>{3});
    CHECK(ranks_in("[]").empty());
    CHECK(ranks_in("[0, 1, ..., 63]").empty());
    CHECK(ranks_in("0, 1").empty());
}

}  // namespace collective_words_test
