#include "shim/harvest/cupti_record.h"

#include <catch2/catch.hpp>
#include <cstring>
#include <string>

namespace cupti_record_test {

using namespace gpushim;
using namespace gpushim::shim;

namespace {

// As CUPTI fills one: what is not asked for is not zero.
template <class Record>
Record made(CUpti_ActivityKind kind) {
    Record record;
    std::memset(static_cast<void*>(&record), 0x5a, sizeof record);
    record.kind = kind;
    record.start = 1'000;
    record.end = 3'500;
    record.deviceId = 3;
    record.correlationId = 77;
    record.graphNodeId = 0;
    return record;
}

template <class Record>
DeviceRecord read(const Record& record) {
    DeviceRecord read = {};
    REQUIRE(read_record(reinterpret_cast<const CUpti_Activity&>(record), read));
    return read;
}

template <class Record>
void check(CUpti_ActivityKind kind, GraphNode expected) {
    auto record = made<Record>(kind);
    const DeviceRecord told = read(record);
    CHECK(told.correlation == 77);
    CHECK(told.device == 3);
    CHECK(told.start_ns == 1'000);
    CHECK(told.end_ns == 3'500);
    CHECK(told.node == 0);
    CHECK(told.kind == expected);
    record.graphNodeId = uint64_t{5} << 32 | 9;
    CHECK(read(record).node == (uint64_t{5} << 32 | 9));
}

}  // namespace

TEST_CASE("records of every version that the header knows are read", "[cupti]") {
    check<CUpti_ActivityKernel5>(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, GraphNode::kernel);
    check<CUpti_ActivityKernel8>(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, GraphNode::kernel);
    check<CUpti_ActivityKernel9>(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, GraphNode::kernel);
    check<CUpti_ActivityKernel10>(CUPTI_ACTIVITY_KIND_KERNEL, GraphNode::kernel);
    check<CUpti_ActivityMemcpy4>(CUPTI_ACTIVITY_KIND_MEMCPY, GraphNode::copy);
    check<CUpti_ActivityMemcpy6>(CUPTI_ACTIVITY_KIND_MEMCPY, GraphNode::copy);
    check<CUpti_ActivityMemcpyPtoP2>(CUPTI_ACTIVITY_KIND_MEMCPY2, GraphNode::copy);
    check<CUpti_ActivityMemcpyPtoP4>(CUPTI_ACTIVITY_KIND_MEMCPY2, GraphNode::copy);
    check<CUpti_ActivityMemset2>(CUPTI_ACTIVITY_KIND_MEMSET, GraphNode::memset);
    check<CUpti_ActivityMemset4>(CUPTI_ACTIVITY_KIND_MEMSET, GraphNode::memset);
}

TEST_CASE("only kernels have names", "[cupti]") {
    auto kernel = made<CUpti_ActivityKernel10>(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
    kernel.name = "_Z4gemm";
    CHECK(read(kernel).name == std::string("_Z4gemm"));
    CHECK(read(made<CUpti_ActivityMemcpy6>(CUPTI_ACTIVITY_KIND_MEMCPY)).name == nullptr);
}

TEST_CASE("a node that CUPTI tells as a kernel of the driver's is the copy that it carries out", "[cupti]") {
    DeviceRecord record = {};
    record.kind = GraphNode::kernel;
    CHECK(kind_of_node(record) == GraphNode::kernel);
    record.name = "memcpy32_post";
    CHECK(kind_of_node(record) == GraphNode::copy);
    record.name = "memcpy32_postponed";
    CHECK(kind_of_node(record) == GraphNode::kernel);
    record.kind = GraphNode::memset;
    CHECK(kind_of_node(record) == GraphNode::memset);
}

TEST_CASE("what was not over, and what is no operation, is not read", "[cupti]") {
    DeviceRecord told = {};
    auto kernel = made<CUpti_ActivityKernel10>(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
    kernel.start = kernel.end = 0;
    CHECK_FALSE(read_record(reinterpret_cast<const CUpti_Activity&>(kernel), told));
    kernel.start = 10;
    CHECK_FALSE(read_record(reinterpret_cast<const CUpti_Activity&>(kernel), told));
    kernel.end = 10;
    CHECK(read_record(reinterpret_cast<const CUpti_Activity&>(kernel), told));
    CUpti_ActivityExternalCorrelation other = {};
    other.kind = CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION;
    CHECK_FALSE(read_record(reinterpret_cast<const CUpti_Activity&>(other), told));
}

}  // namespace cupti_record_test
