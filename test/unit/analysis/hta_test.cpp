#include "analysis/run/parts/hta.h"

#include <random>
#include <vector>

#include <catch2/catch.hpp>
#include "analysis/interval/interval.h"
#include "analysis/trace/call.h"

namespace hta_test {

using namespace gpushim::analysis;

namespace {

constexpr int64_t kUs = 1000;

HtaOperation ran(HtaKind kind, int64_t start, int64_t end, int64_t stream = 7,
                 int64_t launched_ns = kNotRecorded) {
    return {start, end, launched_ns, stream, kind};
}

HtaSums sums_of(const std::vector<HtaOperation>& operations) {
    HtaSums sums;
    for (const HtaOperation& operation : operations) sums.add(operation);
    return sums;
}

}  // namespace

//  stream 7   compute  10|======|40        60|====|80
//  stream 8   comm           30|==========|70
//  stream 9   other                               85|=|90
TEST_CASE("the window goes from the first start to the last end, and overlap is of communication", "[hta]") {
    const HtaSums sums = sums_of({ran(HtaKind::compute, 10, 40), ran(HtaKind::comm, 30, 70, 8),
                                  ran(HtaKind::compute, 60, 80), ran(HtaKind::other, 85, 90, 9)});
    CHECK(sums.window_ns() == 80);
    CHECK(sums.busy_ns == 75);
    CHECK(sums.compute_ns == 50);
    CHECK(sums.comm_ns == 40);
    CHECK(sums.overlap_ns == 20);
    CHECK(sums.operations == 4);
    CHECK(sums.out_of_order == 0);
}

TEST_CASE("what runs beside its like counts once", "[hta]") {
    const HtaSums sums = sums_of({ran(HtaKind::compute, 0, 100), ran(HtaKind::compute, 20, 60, 8),
                                  ran(HtaKind::compute, 100, 110, 8), ran(HtaKind::comm, 105, 120, 9)});
    CHECK(sums.busy_ns == 120);
    CHECK(sums.compute_ns == 110);
    CHECK(sums.overlap_ns == 5);
}

//  stream   |==|10     50|==|60 kernel_wait: launched at 5    |200 host_wait: launched at 61    |300000 other
TEST_CASE("a gap belongs to the host if the call came after the operation before", "[hta]") {
    HtaSums sums = sums_of({ran(HtaKind::compute, 0, 10, 7, 0), ran(HtaKind::compute, 50, 60, 7, 5),
                            ran(HtaKind::compute, 200, 210, 7, 61),
                            ran(HtaKind::compute, 210 + 30 * kUs, 40 * kUs, 7, 210),
                            ran(HtaKind::compute, 40 * kUs + 30 * kUs - 1, 70 * kUs, 7)});
    REQUIRE(sums.gaps().size() == 3);
    CHECK(sums.gaps()[{7, "kernel_wait"}].ns == 40 + 30 * kUs - 1);  // a call that is not known is no host's
    CHECK(sums.gaps()[{7, "host_wait"}].ns == 140);
    CHECK(sums.gaps()[{7, "other"}].ns ==
          30 * kUs);  // launched when the one before ended, and just long enough
    CHECK(sums.gaps()[{7, "other"}].gaps == 1);
}

TEST_CASE("streams have gaps of their own, and what overlaps makes them shorter", "[hta]") {
    HtaSums sums = sums_of({ran(HtaKind::compute, 0, 100, 7), ran(HtaKind::compute, 0, 10, 8),
                            ran(HtaKind::compute, 40, 50, 7), ran(HtaKind::compute, 60, 70, 7),
                            ran(HtaKind::compute, 20, 30, 8)});
    CHECK(sums.gaps()[{7, "kernel_wait"}].ns == -60 + 10);
    CHECK(sums.gaps()[{8, "kernel_wait"}].ns == 10);
    CHECK(sums.out_of_order == 1);
}

TEST_CASE("the window begins with the first start, in whichever order operations come", "[hta]") {
    const HtaSums sums = sums_of({ran(HtaKind::compute, 100, 120), ran(HtaKind::compute, 50, 60, 8),
                                  ran(HtaKind::compute, 70, 80, 8), ran(HtaKind::compute, 100, 110, 9)});
    CHECK(sums.first_start_ns == 50);
    CHECK(sums.last_end_ns == 120);
    CHECK(sums.out_of_order == 2);  // not one that starts with the last one
    CHECK(sums_of({}).window_ns() == 0);
    CHECK(sums_of({ran(HtaKind::other, -7, -3)}).window_ns() == 4);
}

TEST_CASE("what communicates, by the other tool's patterns", "[hta]") {
    CHECK(hta_kind("ncclDevKernel_AllReduce_Sum_f32_RING_LL(...)") == HtaKind::comm);
    CHECK(hta_kind("void ncclKernel_SendRecv_RING()") == HtaKind::comm);
    CHECK(hta_kind("void at::native::vectorized_elementwise_kernel<4>()") == HtaKind::compute);
    CHECK(hta_kind("Memcpy HtoD (Pinned -> Device)") == HtaKind::other);
    CHECK(hta_kind("void cub::DeviceSyncKernel()") == HtaKind::other);
    CHECK(hta_kind("cross_device_reduce_1stage") == HtaKind::compute);  // it knows no custom ones
}

TEST_CASE("unions and overlap are those of whole intervals", "[hta]") {
    std::mt19937_64 random(20261120);
    for (int round = 0; round < 300; ++round) {
        std::vector<HtaOperation> all;
        Intervals of[3];
        int64_t start = 0;
        for (int i = 0; i < 40; ++i) {
            start += static_cast<int64_t>(random() % 12);
            const auto kind = static_cast<HtaKind>(random() % 3);
            const auto end = start + 1 + static_cast<int64_t>(random() % 30);
            all.push_back(ran(kind, start, end, static_cast<int64_t>(random() % 3)));
            of[static_cast<size_t>(kind)].push_back({start, end});
        }
        const HtaSums sums = sums_of(all);
        Intervals any;
        for (auto& some : of) {
            any.insert(any.end(), some.begin(), some.end());
            some = unite(some);
        }
        const auto length = [](const Intervals& spans) {
            int64_t sum = 0;
            for (const Interval& span : spans) sum += span.length_ns();
            return sum;
        };
        CHECK(sums.busy_ns == length(unite(any)));
        CHECK(sums.compute_ns == length(of[0]));
        CHECK(sums.comm_ns == length(of[1]));
        CHECK(sums.overlap_ns == length(intersect(of[0], of[1])));
    }
}

}  // namespace hta_test
