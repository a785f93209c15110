// The rows of a trace as calls of all kinds.
#include "analysis/trace/timeline.h"
#include "made_trace.h"

#include <catch2/catch.hpp>

namespace call_rows_test {

using namespace made;

namespace {

// One call of each kind, 100 apart.
Made one_of_each() {
    Made made;
    made.run(
        "INSERT INTO api VALUES (2, 'cuMemcpyHtoDAsync_v2', 'cuMemcpyHtoDAsync', 'copy'),"
        " (3, 'cuMemAlloc_v2', 'cuMemAlloc', 'memory'), (4, 'cuModuleLoadData', 'cuModuleLoadData', 'born'),"
        " (5, 'cuModuleGetFunction', 'cuModuleGetFunction', 'named'), (6, 'cuEventRecord', 'cuEventRecord',"
        " 'record'), (7, 'cuStreamWaitEvent', 'cuStreamWaitEvent', 'wait'), (8, 'ncclAllReduce',"
        " 'ncclAllReduce', 'collective'), (9, 'cuEventQuery', 'cuEventQuery', 'query'), (10, 'cuInit',"
        " 'cuInit', 'other'), (11, 'cuGraphExecUpdate_v2', 'cuGraphExecUpdate', 'graph'), (12,"
        " 'cuStreamBeginCapture_v2', 'cuStreamBeginCapture', 'capture'), (13, 'cuStreamEndCapture',"
        " 'cuStreamEndCapture', 'capture')");
    made.run("INSERT INTO launch VALUES (100, 5, 1, 1, 77, 4, 0), (150, 5, 1, 1, 77, NULL, 1)");
    made.run("INSERT INTO launch_device VALUES (100, 20, 30, 1)");
    made.run(
        "INSERT INTO copy VALUES (200, 5, 1, 1, 2, 4096, 1, 33, NULL, 32), (250, 5, 1, NULL, 2, 1, 5, 9,"
        " NULL, 0), (260, 5, 1, 1, 2, 8, 2, 12, NULL, 0)");
    made.run("INSERT INTO memset VALUES (300, 5, 1, 1, 2, 64, NULL, 0)");
    made.run("INSERT INTO graph_launch VALUES (400, 5, 1, 1, 2, 3, 0)");
    made.run(
        "INSERT INTO sync VALUES (500, 5, 1, 1, NULL, 1, 1, NULL, 0), (550, 5, 1, 9, 70, 1, 12, NULL, 0)");
    made.run("INSERT INTO memory VALUES (600, 5, 1, 3, 1, 4096, 4, 1, 4096, NULL, 0, NULL)");
    made.run(
        "INSERT INTO call VALUES (700, 5, 1, 4, 1, NULL, NULL, 0, NULL, NULL), (710, 5, 1, 5, 1, NULL, NULL, "
        "0, NULL, NULL),"
        " (720, 25000, 1, 5, 1, NULL, NULL, 0, NULL, NULL), (26000, 5, 1, 6, 70, 1, NULL, 0, NULL, NULL),"
        " (26100, 5, 1, 7, 70, 1, NULL, 0, NULL, NULL), (26200, 5, 1, 10, NULL, NULL, NULL, 0, NULL, NULL),"
        " (160000, 5, 1, 11, NULL, NULL, NULL, 0, NULL, NULL),"
        " (161000, 5, 1, 12, NULL, 1, NULL, 0, NULL, NULL), (162000, 5, 1, 13, NULL, 1, NULL, 0, NULL, "
        "NULL)");
    made.run("INSERT INTO collective VALUES (27000, 5, 1, 1, 8, 3, 9, 1000, 7, 0, NULL, 4000, 4, 0)");
    made.run(
        "INSERT INTO host_gap VALUES (28000, 60000, 1, 20000, 3000, 'read', 5),"
        " (90000, 60000, 1, NULL, NULL, NULL, 0)");
    return made;
}

std::vector<Call> calls_of(const Made& made, CallsOf which) {
    Timeline timeline(made.inputs().traces[0], which);
    std::vector<Call> all;
    Call call;
    while (timeline.next(call)) all.push_back(call);
    return all;
}

}  // namespace

TEST_CASE("every row comes as a call of its kind, in order of enter", "[timeline]") {
    const auto calls = calls_of(one_of_each(), CallsOf::host_too);
    const std::vector<std::pair<int64_t, CallKind>> expected = {
        {100, CallKind::operation},     {200, CallKind::operation},
        {250, CallKind::other},         {260, CallKind::operation},
        {300, CallKind::operation},     {400, CallKind::operation},
        {500, CallKind::sync},          {550, CallKind::other},
        {600, CallKind::memory},        {700, CallKind::load},
        {710, CallKind::other},         {720, CallKind::load},
        {26000, CallKind::record},      {26100, CallKind::wait},
        {26200, CallKind::other},       {27000, CallKind::collective},
        {28000, CallKind::host_gap},    {90000, CallKind::host_gap},
        {160000, CallKind::make_graph}, {161000, CallKind::begin_capture},
        {162000, CallKind::end_capture}};
    REQUIRE(calls.size() == expected.size());
    for (size_t i = 0; i < calls.size(); ++i) {
        INFO(i);
        CHECK(calls[i].enter_ns == expected[i].first);
        CHECK(calls[i].kind == expected[i].second);
    }
}

// HIP's calls have the runtime's names, but for their first letters.
TEST_CASE("calls of HIP are of the kinds that CUDA's are", "[timeline]") {
    Made made;
    made.run(
        "INSERT INTO api VALUES (2, 'hipStreamBeginCapture', 'hipStreamBeginCapture', 'capture'),"
        " (3, 'hipStreamEndCapture', 'hipStreamEndCapture', 'capture'), (4, 'hipGraphInstantiateWithFlags',"
        " 'hipGraphInstantiateWithFlags', 'born'), (5, 'hipModuleLoadData', 'hipModuleLoadData', 'other'),"
        " (6, 'hipGraphNodes', 'hipGraphNodes', 'other'), (7, 'shipGraphExec', 'shipGraphExec', 'other')");
    made.run(
        "INSERT INTO call VALUES (100, 5, 1, 2, NULL, 1, NULL, 0, NULL, NULL), (200, 5, 1, 3, NULL, 1, NULL, "
        "0, NULL, NULL),"
        " (300, 5, 1, 4, NULL, NULL, NULL, 0, NULL, NULL), (400, 5, 1, 5, NULL, NULL, NULL, 0, NULL, NULL),"
        " (500, 5, 1, 6, NULL, NULL, NULL, 0, NULL, NULL), (600, 5, 1, 7, NULL, NULL, NULL, 0, NULL, NULL)");
    std::vector<CallKind> kinds;
    for (const Call& call : calls_of(made, CallsOf::host_too)) kinds.push_back(call.kind);
    CHECK(kinds == std::vector<CallKind>{CallKind::begin_capture, CallKind::end_capture, CallKind::make_graph,
                                         CallKind::load, CallKind::other, CallKind::other});
}

TEST_CASE("calls carry what their rows say", "[timeline]") {
    const auto calls = calls_of(one_of_each(), CallsOf::host_too);
    const Call &kernel = calls[0], &copy = calls[1], &to_host = calls[3];
    CHECK(kernel.detail == 77);
    CHECK(kernel.group_id == 4);
    CHECK(kernel.type == OperationClass::comm);
    REQUIRE(kernel.timed);
    CHECK(kernel.times.start_ns == 120);
    CHECK(kernel.times.end_ns == 150);
    CHECK(copy.type == OperationClass::h2d);
    CHECK(copy.bytes == 4096);
    CHECK(copy.detail == 33);
    CHECK(copy.blocking);
    CHECK(!copy.completes);
    CHECK(!copy.timed);
    CHECK(to_host.completes);  // into pageable memory
    CHECK(calls[5].detail == 3);
    CHECK(calls[7].detail == 12);
    CHECK(calls[8].bytes == 4096);
    CHECK(calls[12].target_id == 70);
    CHECK(calls[15].target_id == 3);
    CHECK(calls[15].detail == 9);
    CHECK(calls[15].bytes == 4000);
    const Call &sampled = calls[16], &not_sampled = calls[17];
    CHECK(sampled.detail == 20000);
    CHECK(sampled.runqueue_ns == 3000);
    CHECK(sampled.blocked_on == 0);
    CHECK(not_sampled.detail == kNotRecorded);
    CHECK(not_sampled.blocked_on == -1);
}

TEST_CASE("of devices only, and without device times", "[timeline]") {
    const Made made = one_of_each();
    std::vector<int64_t> enters;
    for (const Call& call : calls_of(made, CallsOf::devices)) enters.push_back(call.enter_ns);
    CHECK(enters == std::vector<int64_t>{100, 200, 250, 260, 300, 400, 500, 26000, 26100});
    for (const Call& call : calls_of(made, CallsOf::host_times)) CHECK(!call.timed);
}

// A stream may have the number 0, a row none, and one that no stream has.
TEST_CASE("streams and levels of error may take turns", "[timeline]") {
    Made made(2);
    made.run("INSERT INTO stream VALUES (0, NULL, 1, 'made', NULL, 1, 0)");
    const std::vector<std::pair<std::string, int32_t>> streams = {
        {"0", 0}, {"0", 0}, {"9", kNoLane},    {"9", kNoLane},
        {"1", 1}, {"2", 2}, {"1", 1},          {"5000000", kNoLane},
        {"2", 2}, {"2", 2}, {"NULL", kNoLane}, {"0", 0}};
    const std::vector<std::pair<int64_t, std::optional<int64_t>>> errors = {
        {1, 0},  {2, 500}, {2, 500}, {9, {}},  {9, {}}, {1, 0},
        {0, {}}, {2, 500}, {9, {}},  {2, 500}, {1, 0},  {1, 0}};
    for (size_t i = 0; i < streams.size(); ++i) {
        const std::string enter = std::to_string(10 * i);
        made.run("INSERT INTO launch VALUES (" + enter + ", 4, 1, " + streams[i].first + ", 77, NULL, 0)");
        made.run("INSERT INTO launch_device VALUES (" + enter + ", 1, 2, " + std::to_string(errors[i].first) +
                 ")");
    }
    const auto calls = calls_of(made, CallsOf::devices);
    REQUIRE(calls.size() == streams.size());
    for (size_t i = 0; i < calls.size(); ++i) {
        INFO(i);
        CHECK(calls[i].lane == streams[i].second);
        REQUIRE(calls[i].timed == errors[i].second.has_value());
        if (calls[i].timed) CHECK(calls[i].times.likely_ns == *errors[i].second);
    }
}

// Of memory that was freed they are below 0.
TEST_CASE("bytes that nothing can have are not recorded", "[timeline]") {
    Made made;
    made.run("INSERT INTO api VALUES (2, 'cuMemFree_v2', 'cuMemFree', 'memory')");
    made.run(
        "INSERT INTO copy VALUES (200, 5, 1, 1, 2, -1, 1, 33, NULL, 0), (210, 5, 1, 1, 2, 1 << 50, 1, 33,"
        " NULL, 0), (220, 5, 1, 1, 2, (1 << 50) + 1, 1, 33, NULL, 0)");
    made.run("INSERT INTO memset VALUES (300, 5, 1, 1, 2, -64, NULL, 0)");
    made.run("INSERT INTO memory VALUES (400, 5, 1, 2, 1, -4096, 4, 1, 4096, NULL, 0, NULL)");
    made.run("INSERT INTO collective VALUES (500, 5, 1, 1, 8, 3, 9, 1000, 7, 0, NULL, -4000, 4, 0)");
    std::vector<int64_t> bytes;
    for (const Call& call : calls_of(made, CallsOf::host_too)) bytes.push_back(call.bytes);
    CHECK(bytes == std::vector<int64_t>{kNotRecorded, int64_t{1} << 50, kNotRecorded, kNotRecorded, -4096,
                                        kNotRecorded});
}

// Device times whose row is not there, and rows whose times are not.
TEST_CASE("device times are those of the same enter", "[timeline]") {
    Made made;
    for (const int64_t enter_ns : {10, 20, 30, 40}) made.launch(enter_ns, enter_ns + 2);
    made.run("INSERT INTO launch_device VALUES (5, 1, 1, 1), (20, 3, 4, 1), (25, 1, 1, 1), (40, 5, 6, 1)");
    const auto calls = calls_of(made, CallsOf::devices);
    REQUIRE(calls.size() == 4);
    CHECK(!calls[0].timed);
    CHECK(calls[1].times.start_ns == 23);
    CHECK(!calls[2].timed);
    CHECK(calls[3].times.end_ns == 51);
}

TEST_CASE("a table that the trace does not have gives no calls", "[timeline]") {
    Made made = one_of_each();
    made.run("DROP TABLE host_gap; PRAGMA user_version = 1");
    CHECK(calls_of(made, CallsOf::host_too).size() == 19);
}

TEST_CASE("rows that may not be all there yet are left for later", "[timeline]") {
    Made made = one_of_each();
    made.still_written(550);
    const auto calls = calls_of(made, CallsOf::host_too);
    REQUIRE(calls.size() == 7);
    CHECK(calls.back().enter_ns == 500);
}

// Whatever a damaged file says, ends come behind starts by no more than a year, and in a century of ours.
TEST_CASE("times that no trace can have are bounded", "[timeline]") {
    constexpr int64_t kCenturyNs = int64_t{36'500} * 86'400 * 1'000'000'000;
    Made made;
    made.run(
        "INSERT INTO launch VALUES (-9223372036854775807 - 1, 4, 1, 1, 77, NULL, 0),"
        " (10, 5, 1, 1, 77, NULL, 0), (9223372036854775807, 6, 1, 1, 77, NULL, 0)");
    made.run(
        "INSERT INTO launch_device VALUES (10, 9223372036854775807, 9223372036854775807, 1),"
        " (9223372036854775807, 9223372036854775807, 9223372036854775807, 1)");
    const auto calls = calls_of(made, CallsOf::devices);
    REQUIRE(calls.size() == 2);  // the last time is that of a trace that is still written
    CHECK(calls[0].enter_ns == -kCenturyNs);
    CHECK(calls[0].exit_ns == -kCenturyNs + 4);
    CHECK(calls[1].enter_ns == 10);
    CHECK(calls[1].exit_ns == 15);
    REQUIRE(calls[1].timed);
    CHECK(calls[1].times.end_ns == 10 + 2 * (kCenturyNs / 100));
}

TEST_CASE("calls that took less than nothing, or longer than a year, are none", "[timeline]") {
    Made made;
    made.run(
        "INSERT INTO launch VALUES (10, -1, 1, 1, 77, NULL, 0), (20, 0, 1, 1, 77, NULL, 0),"
        " (30, 31536000000000001, 1, 1, 77, NULL, 0), (40, 31536000000000000, 1, 1, 77, NULL, 0)");
    const auto calls = calls_of(made, CallsOf::devices);
    REQUIRE(calls.size() == 2);
    CHECK(calls[0].enter_ns == 20);
    CHECK(calls[1].enter_ns == 40);
}

}  // namespace call_rows_test
