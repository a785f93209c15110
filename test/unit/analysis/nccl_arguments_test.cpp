#include "analysis/exporter/nccl_arguments.h"

#include <string>

#include "analysis/exporter/event_text.h"
#include "catch2/catch.hpp"

namespace nccl_arguments_test {

using namespace gpushim::analysis;

namespace {

ExportRow collective(const char* api, int64_t count, int64_t group = 1, int64_t type = 7, int64_t peer = -1) {
    ExportRow row;
    row.kind = ExportKind::collective;
    row.name = api;
    row.what = "c0ffee";
    row.group = group;
    row.device = 0;
    row.stream = 3;
    row.numbers = {4 * count, count, type, peer < 0 ? ExportRow::kNone : peer, 17, 2, 1};
    return row;
}

std::string told(NcclArguments& nccl, int64_t group = 1, int64_t stream = 3) {
    ExportRow kernel;
    kernel.group = group;
    kernel.device = 0;
    kernel.stream = stream;
    EventText event;
    event.begin('X', "", "k");
    nccl.tell(kernel, event);
    const std::string line(event.end());
    const size_t args = line.find("\"args\": ");
    return args == std::string::npos ? "" : line.substr(args + 8, line.size() - args - 9);
}

}  // namespace

TEST_CASE("a collective in the profiler's words", "[nccl_arguments]") {
    NcclArguments nccl(2);
    nccl.asked(collective("ncclAllReduce", 1000));
    CHECK(told(nccl) == R"({"Collective name": "allreduce", "In msg nelems": 1000, "Out msg nelems": 1000,)"
                        R"( "In msg size": 4000, "Group size": 2, "dtype": "Float",)"
                        R"( "Process Group Name": "c0ffee", "Process Group Description": "default_pg",)"
                        R"( "Process Group Ranks": "[0, 1]", "Rank": 1, "Seq": 17})");
    CHECK(told(nccl).empty());  // once only
}

TEST_CASE("what goes in and what comes out", "[nccl_arguments]") {
    NcclArguments nccl({});
    nccl.asked(collective("ncclAllGather", 10));
    CHECK(told(nccl).find(R"("In msg nelems": 10, "Out msg nelems": 20, "In msg size": 40)") !=
          std::string::npos);
    nccl.asked(collective("ncclReduceScatter", 10));
    CHECK(told(nccl).find(R"("In msg nelems": 20, "Out msg nelems": 10, "In msg size": 80)") !=
          std::string::npos);
    nccl.asked(collective("ncclSend", 10, 1, 9, 5));
    const std::string send = told(nccl);
    CHECK(send.find(R"("In msg nelems": 10, "In msg size")") != std::string::npos);
    CHECK(send.find(R"("dtype": "BFloat16")") != std::string::npos);
    CHECK(send.find(R"("Dst Rank": 5)") != std::string::npos);
    CHECK(send.find("Seq") == std::string::npos);
    CHECK(send.find("default_pg") == std::string::npos);  // how many ranks there are is not known
}

TEST_CASE("one kernel for several is told as one", "[nccl_arguments]") {
    NcclArguments nccl(8);
    nccl.asked(collective("ncclAllReduce", 10));
    nccl.asked(collective("ncclAllReduce", 30));
    const std::string both = told(nccl);
    CHECK(both.find(R"("In msg nelems": 40)") != std::string::npos);
    CHECK(both.find(R"("calls": 2)") != std::string::npos);
    nccl.asked(collective("ncclAllReduce", 10));
    nccl.asked(collective("ncclBroadcast", 10, 1, 0));
    const std::string mixed = told(nccl);
    CHECK(mixed.find(R"("Collective name": "coalesced")") != std::string::npos);
    CHECK(mixed.find("dtype") == std::string::npos);
}

TEST_CASE("a kernel of another group or stream says nothing", "[nccl_arguments]") {
    NcclArguments nccl(2);
    nccl.asked(collective("ncclAllReduce", 10));
    CHECK(told(nccl, 2).empty());
    CHECK(told(nccl, 1, 4).empty());
    ExportRow failed = collective("ncclAllReduce", 10, 5);
    failed.flags = gpushim::kRowFailed;
    nccl.asked(failed);
    CHECK(told(nccl, 5).empty());
    for (int64_t group = 10; group < 10'000; ++group) nccl.asked(collective("ncclAllReduce", 10, group));
    CHECK(told(nccl, 1).empty());  // forgotten
    CHECK(!told(nccl, 9'999).empty());
}

}  // namespace nccl_arguments_test
