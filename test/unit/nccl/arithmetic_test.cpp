// Every operator on every data type, with values that each type can hold.
#include <cmath>
#include <limits>

#include "ranks.h"

namespace arithmetic_test {

namespace {

constexpr size_t kCount = 3;

// Ranks 0, 1, 2 bring 1, 2, 3 in every place.
template <class T>
T reduced(const Ranks& ranks, ncclDataType_t type, ncclRedOp_t op, const std::vector<T>& by_rank) {
    std::vector<T*> buffers;
    for (int r = 0; r < ranks.count(); ++r)
        buffers.push_back(ranks.put(r, std::vector<T>(kCount, by_rank[static_cast<size_t>(r)])));
    ranks.together([&](int r) {
        T* const buffer = buffers[static_cast<size_t>(r)];
        return ncclAllReduce(buffer, buffer, kCount, type, op, ranks.comm(r), ranks.stream(r));
    });
    const std::vector<T> first = ranks.get(0, buffers[0], kCount);
    for (int r = 1; r < ranks.count(); ++r) {
        const std::vector<T> other = ranks.get(r, buffers[static_cast<size_t>(r)], kCount);
        CHECK(std::memcmp(other.data(), first.data(), kCount * sizeof(T)) == 0);
    }
    return first[kCount - 1];
}

template <class T>
void check_type(const Ranks& ranks, ncclDataType_t type) {
    INFO("data type " << type);
    const std::vector<T> values = {T(1.0f), T(2.0f), T(3.0f)};
    CHECK(static_cast<float>(reduced(ranks, type, ncclSum, values)) == 6.0f);
    CHECK(static_cast<float>(reduced(ranks, type, ncclProd, values)) == 6.0f);
    CHECK(static_cast<float>(reduced(ranks, type, ncclMax, values)) == 3.0f);
    CHECK(static_cast<float>(reduced(ranks, type, ncclMin, values)) == 1.0f);
    CHECK(static_cast<float>(reduced(ranks, type, ncclAvg, values)) == 2.0f);
}

}  // namespace

TEST_CASE("every operator works on every data type", "[nccl]") {
    box::knobs("GPUSIM_DEVICES=3");
    const Ranks ranks(3);
    check_type<int8_t>(ranks, ncclInt8);
    check_type<uint8_t>(ranks, ncclUint8);
    check_type<int32_t>(ranks, ncclInt32);
    check_type<uint32_t>(ranks, ncclUint32);
    check_type<int64_t>(ranks, ncclInt64);
    check_type<uint64_t>(ranks, ncclUint64);
    check_type<__half>(ranks, ncclFloat16);
    check_type<float>(ranks, ncclFloat32);
    check_type<double>(ranks, ncclFloat64);
    check_type<__nv_bfloat16>(ranks, ncclBfloat16);
    check_type<__nv_fp8_e4m3>(ranks, ncclFloat8e4m3);
    check_type<__nv_fp8_e5m2>(ranks, ncclFloat8e5m2);
}

TEST_CASE("signs, overflow, precision and NaN are those of the type", "[nccl]") {
    box::knobs("GPUSIM_DEVICES=3");
    const Ranks ranks(3);
    CHECK(reduced<int8_t>(ranks, ncclInt8, ncclSum, {100, 100, 0}) == -56);
    CHECK(reduced<int32_t>(ranks, ncclInt32, ncclMax, {-7, -2, -9}) == -2);
    CHECK(reduced<uint32_t>(ranks, ncclUint32, ncclMax, {1, 0xfffffff0u, 3}) == 0xfffffff0u);
    CHECK(reduced<int64_t>(ranks, ncclInt64, ncclSum, {int64_t{1} << 60, 1, 1}) == (int64_t{1} << 60) + 2);
    CHECK(reduced<double>(ranks, ncclFloat64, ncclSum, {1.0, 1e-12, 0.0}) == 1.0 + 1e-12);
    // Added up one by one in half precision, 2048 + 1 stays 2048.
    CHECK(static_cast<float>(reduced<__half>(ranks, ncclHalf, ncclSum,
                                             {__half(2048.f), __half(1.f), __half(1.f)})) == 2050.0f);
    const float nan = std::numeric_limits<float>::quiet_NaN();
    CHECK(reduced<float>(ranks, ncclFloat, ncclMax, {nan, 1.0f, 2.0f}) == 2.0f);
    CHECK(std::isnan(reduced<float>(ranks, ncclFloat, ncclSum, {nan, 1.0f, 2.0f})));
}

TEST_CASE("PreMulSum scales each rank's values by its own scalar", "[nccl]") {
    box::knobs("GPUSIM_DEVICES=2");
    const Ranks ranks(2);
    float by_host = 0.5f;
    float* const on_device = ranks.put(1, std::vector<float>{10.0f});
    ncclRedOp_t ops[2];
    NC(ncclRedOpCreatePreMulSum(&ops[0], &by_host, ncclFloat, ncclScalarHostImmediate, ranks.comm(0)));
    NC(ncclRedOpCreatePreMulSum(&ops[1], on_device, ncclFloat, ncclScalarDevice, ranks.comm(1)));
    by_host = 99.0f;  // was read already
    float* const buffers[] = {ranks.put(0, std::vector<float>{4.0f}), ranks.put(1, std::vector<float>{3.0f})};
    ranks.together([&](int r) {
        return ncclAllReduce(buffers[r], buffers[r], 1, ncclFloat, ops[r], ranks.comm(r), ranks.stream(r));
    });
    CHECK(ranks.get(0, buffers[0], 1)[0] == 0.5f * 4.0f + 10.0f * 3.0f);
    CHECK(ranks.get(1, buffers[1], 1)[0] == 0.5f * 4.0f + 10.0f * 3.0f);
    NC(ncclRedOpDestroy(ops[0], ranks.comm(0)));
    NC_IS(ncclRedOpDestroy(ops[0], ranks.comm(0)), ncclInvalidArgument);
    NC_IS(ncclRedOpDestroy(ncclSum, ranks.comm(0)), ncclInvalidArgument);
    NC_IS(ncclAllReduce(buffers[0], buffers[0], 1, ncclFloat, ops[0], ranks.comm(0), ranks.stream(0)),
          ncclInvalidArgument);
    NC_IS(ncclAllReduce(buffers[1], buffers[1], 1, ncclInt, ops[1], ranks.comm(1), ranks.stream(1)),
          ncclInvalidArgument);
}

}  // namespace arithmetic_test
