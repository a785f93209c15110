// Names of kernels that communicate, and what each says: operation, whose it is, and of what type.
#include "analysis/kernel/kernel_class.h"

#include <catch2/catch.hpp>

namespace kernel_comm_names_test {

using namespace gpushim::analysis;

namespace {

struct Communicates {
    const char* name;
    CommOperation operation;
    CommSource source;
    Precision precision;
};
constexpr Communicates kComm[] = {
    {"ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)", CommOperation::all_reduce,
     CommSource::nccl, Precision::bf16},
    {"ncclKernel_AllReduce_RING_LL_Sum_float(ncclDevComm*, unsigned long, ncclWork*)",
     CommOperation::all_reduce, CommSource::nccl, Precision::fp32},
    {"ncclAllReduceRingLLKernel_sum_f32(ncclColl)", CommOperation::all_reduce, CommSource::nccl,
     Precision::fp32},
    {"ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(ncclDevComm*, unsigned long, ncclWork*)",
     CommOperation::send_recv, CommSource::nccl, Precision::unknown},
    {"ncclDevKernel_ReduceScatter_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
     CommOperation::reduce_scatter, CommSource::nccl, Precision::fp32},
    {"ncclDevKernel_Reduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)", CommOperation::reduce,
     CommSource::nccl, Precision::fp32},
    {"ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)", CommOperation::all_gather,
     CommSource::nccl, Precision::unknown},
    {"ncclDevKernel_Broadcast_RING_LL(ncclDevKernelArgsStorage<4096ul>)", CommOperation::broadcast,
     CommSource::nccl, Precision::unknown},
    {"ncclSymDevKernel_AllReduce_RSxLD_AGxST_sum_bf16(ncclSymDevArgs)", CommOperation::all_reduce,
     CommSource::nccl, Precision::bf16},
    {"ncclSymkDevKernel_AllGather_LLMC", CommOperation::all_gather, CommSource::nccl, Precision::unknown},
    {"ncclDevKernel_Generic_4(ncclDevKernelArgsStorage<4096ul>)", CommOperation::other, CommSource::nccl,
     Precision::unknown},
    {"mscclKernel_Sum_half_Simple_false(ncclDevComm*, mscclAlgo*, mscclWork*)", CommOperation::other,
     CommSource::nccl, Precision::unknown},
    {"void vllm::cross_device_reduce_1stage<__nv_bfloat16, 8>(vllm::RankData*, vllm::RankSignals)",
     CommOperation::all_reduce, CommSource::custom, Precision::bf16},
    {"void flashinfer::trtllm_allreduce_fusion::allreduce_fusion_kernel_oneshot_lamport<__nv_bfloat16>(int)",
     CommOperation::all_reduce, CommSource::custom, Precision::bf16},
    {"void c10d::symmetric_memory::multimem_one_shot_all_reduce_kernel<c10::BFloat16, 16>(c10::BFloat16*)",
     CommOperation::all_reduce, CommSource::custom, Precision::bf16},
    {"void deep_ep::internode_ll::dispatch<true, 3, 10, 7168>(void*, float*, int*, long*)",
     CommOperation::all_to_all, CommSource::custom, Precision::unknown},
    {"void deep_ep::internode_ll::combine<(bool)0, (int)6144, (int)11, (int)4>(void *, void *)",
     CommOperation::all_to_all, CommSource::custom, Precision::unknown},
    {"void lab::ep::internode::combine<false, 8, __nv_bfloat16, 8>(int4*, float*, bool const*)",
     CommOperation::all_to_all, CommSource::custom, Precision::unknown},
    {"void lab::ep::intranode::notify_dispatch<8>(int const*, int*, int)", CommOperation::all_to_all,
     CommSource::custom, Precision::unknown},
    {"EpDispatchInterNodeKernel<hip_bfloat16>", CommOperation::all_to_all, CommSource::custom,
     Precision::unknown},
    {"EpCombineIntraNodeKernel", CommOperation::all_to_all, CommSource::custom, Precision::unknown},
    {"void lab::ep::internode::cached_notify<false>(int, int, int*)", CommOperation::other,
     CommSource::custom, Precision::unknown},
    {"nvshmemi_barrier_on_stream_kernel", CommOperation::other, CommSource::custom, Precision::unknown},
    {"userbuffers_fp16_sum_gpu_mc_rmsnorm", CommOperation::other, CommSource::custom, Precision::unknown},
};

}  // namespace

TEST_CASE("what communicates: operation, whose, and of what type", "[kernel]") {
    for (const Communicates& row : kComm) {
        INFO(row.name);
        const KernelClass kernel = classify(row.name);
        CHECK(kernel.family == KernelFamily::comm);
        CHECK(name_of(kernel.comm_source) == name_of(row.source));
        CHECK(name_of(kernel.precision) == name_of(row.precision));
        if (row.operation != CommOperation::other)
            CHECK(name_of(kernel.comm_operation) == name_of(row.operation));
        else
            CHECK(kernel.comm_operation == CommOperation::other);
    }
    // Words of collectives elsewhere.
    CHECK(classify("void BlockAllReduceSum<float>(float*)").family == KernelFamily::reduction);
    const KernelClass reduction = classify("void at::native::reduce_kernel<512, 1, ReduceOp<float>>(int)");
    CHECK(reduction.comm_operation == CommOperation::none);
    CHECK(reduction.comm_source == CommSource::none);
    CHECK(classify("void sim::updatePointerNodes<float>(Node*)").family != KernelFamily::comm);
    CHECK(classify("fem::InterNodeDistance(float4 const*)").family != KernelFamily::comm);
    const KernelClass beside = classify("triton_poi_fused_all_gather_into_tensor_cat_4");
    CHECK(beside.family == KernelFamily::elementwise);
    CHECK(beside.comm_operation == CommOperation::none);
    CHECK(beside.comm_source == CommSource::none);
}

}  // namespace kernel_comm_names_test
