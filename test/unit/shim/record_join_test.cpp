#include "shim/harvest/record_join.h"

#include <catch2/catch.hpp>

#include "shim/sqlite/rows.h"

namespace record_join_test {

using namespace gpushim;
using namespace gpushim::shim;

namespace {

constexpr int64_t kSecond = 1'000'000'000;
constexpr int64_t kReadNs = 100 * kSecond;

TimedOperation operation(uint32_t number, int64_t enter_ns, Operation what = Operation::launch,
                         int64_t alike = 1) {
    TimedOperation made = {};
    made.enter_ns = enter_ns;
    made.end = number;
    made.operation = what;
    made.alike = alike;
    return made;
}

DeviceRecord record(uint32_t number, int64_t start_ns, int64_t end_ns, uint64_t node = 0) {
    DeviceRecord made = {};
    made.correlation = number;
    made.device = 2;
    made.start_ns = start_ns;
    made.end_ns = end_ns;
    made.read_ns = kReadNs;
    made.node = node;
    made.kind = GraphNode::kernel;
    return made;
}

}  // namespace

TEST_CASE("operation and record are joined, whichever comes first", "[cupti]") {
    RecordJoin join;
    join.add(operation(1, 100), 0);
    CHECK(join.take(0, false, false).empty());
    CHECK(join.oldest_ns() == 100);
    join.add(record(2, 410, 420), 0);
    join.add(record(1, 110, 150), 0);
    join.add(operation(2, 400), 0);
    const auto whole = join.take(0, false, false);
    REQUIRE(whole.size() == 2);
    CHECK(whole[0].operation.enter_ns == 100);
    CHECK(whole[0].start_ns == 110);
    CHECK(whole[0].end_ns == 150);
    CHECK(whole[0].device == 2);
    CHECK(whole[1].start_ns == 410);
    CHECK_FALSE(join.is_waiting());
    CHECK(join.oldest_ns() == INT64_MAX);
    CHECK(join.unclaimed() == 0);
}

//   parts   |==| |=| |===|
//   span    |============|
TEST_CASE("parts of one operation are one span", "[cupti]") {
    RecordJoin join;
    join.add(operation(1, 100), 0);
    join.add(record(1, 130, 150), 0);
    join.add(record(1, 110, 120), 0);
    join.add(record(1, 122, 126), 0);
    const auto whole = join.take(0, false, false);
    REQUIRE(whole.size() == 1);
    CHECK(whole[0].start_ns == 110);
    CHECK(whole[0].end_ns == 150);
    CHECK(whole[0].nodes.empty());
}

TEST_CASE("a graph is waited for until no more of it comes", "[cupti]") {
    RecordJoin join;
    join.add(operation(1, 100, Operation::graph_launch), 0);
    join.add(record(1, 110, 120, 7), 0);
    CHECK(join.take(RecordJoin::kQuietNs - 1, false, false).empty());
    join.add(record(1, 120, 190, 8), kSecond);
    CHECK(join.take(RecordJoin::kQuietNs, false, false).empty());
    const auto whole = join.take(kSecond + RecordJoin::kQuietNs, false, false);
    REQUIRE(whole.size() == 1);
    CHECK(whole[0].end_ns == 190);
    REQUIRE(whole[0].nodes.size() == 2);
    CHECK(whole[0].nodes[1].node == 8);

    // The next one has as many, and waits no longer than for these.
    join.add(operation(2, 200, Operation::graph_launch), 4 * kSecond);
    join.add(record(2, 210, 220, 7), 4 * kSecond);
    CHECK(join.take(4 * kSecond, false, false).empty());
    join.add(record(2, 220, 290, 8), 4 * kSecond);
    CHECK(join.take(4 * kSecond, false, false).size() == 1);
}

TEST_CASE("where records were lost, a graph that has fewer than another time has no times", "[cupti]") {
    RecordJoin join;
    const auto launch = [&](uint32_t number, int nodes, int64_t graph) {
        join.add(operation(number, number * 100, Operation::graph_launch, graph), 0);
        for (int i = 0; i < nodes; ++i) join.add(record(number, number * 100 + 10, number * 100 + 20, 1), 0);
    };
    launch(1, 3, 5);
    launch(2, 2, 6);
    CHECK(join.take(0, true, true).size() == 2);
    launch(3, 2, 5);
    launch(4, 2, 6);
    const auto whole = join.take(0, true, true);
    REQUIRE(whole.size() == 1);
    CHECK(whole[0].operation.enter_ns == 400);
    // Nothing was lost: then it really had fewer.
    launch(5, 2, 5);
    CHECK(join.take(0, true, false).size() == 1);
}

TEST_CASE("what never finds its other half is given up, and records are counted", "[cupti]") {
    RecordJoin join;
    join.add(operation(1, 100), 0);
    join.add(record(2, 10, 20), 0);
    CHECK(join.take(RecordJoin::kLongestWaitNs - 1, false, false).empty());
    CHECK(join.is_waiting());
    CHECK(join.unclaimed() == 0);
    CHECK(join.take(RecordJoin::kLongestWaitNs, false, false).empty());
    CHECK_FALSE(join.is_waiting());
    CHECK(join.unclaimed() == 1);
    for (uint32_t i = 0; i < RecordJoin::kMostEarly + 10; ++i) join.add(record(i + 3, 10, 20), 20 * kSecond);
    join.take(20 * kSecond, false, false);
    CHECK(join.unclaimed() == 11);
}

TEST_CASE("records of a number are given up together, however many they are", "[cupti]") {
    RecordJoin join;
    join.add(record(1, 10, 20), 0);
    for (size_t i = 1; i < RecordJoin::kMostEarly; ++i) join.add(record(1, 20, 30), kSecond);
    join.take(RecordJoin::kLongestWaitNs, false, false);
    CHECK(join.unclaimed() == RecordJoin::kMostEarly);
    // Half of them would be another span.
    join.add(operation(1, 5), RecordJoin::kLongestWaitNs);
    CHECK(join.take(RecordJoin::kLongestWaitNs, true, false).empty());
}

TEST_CASE("an operation without a number or a row is none", "[cupti]") {
    RecordJoin join;
    join.add(operation(0, 100), 0);
    join.add(operation(4, kNull), 0);
    CHECK_FALSE(join.is_waiting());
}

//   call        |                                            read |
//   1: 1 ms before |===|            ok    3: until it was read |===| ok
//   2: earlier    |===|             displaced    4: later |===|       displaced
TEST_CASE("records before their call or after their reading are counted, and give no times", "[cupti]") {
    RecordJoin join;
    const int64_t enter_ns = kSecond;
    const int64_t earliest_ns = enter_ns - RecordJoin::kEarliestNs;
    for (uint32_t number = 1; number <= 4; ++number) join.add(operation(number, enter_ns + number), 0);
    join.add(record(1, earliest_ns + 1, enter_ns), 0);
    join.add(record(2, earliest_ns + 1, enter_ns), 0);
    join.add(record(3, kReadNs - 10, kReadNs), 0);
    join.add(record(4, kReadNs - 10, kReadNs + 1), 0);
    const auto whole = join.take(0, false, false);
    REQUIRE(whole.size() == 2);
    CHECK(whole[0].start_ns == earliest_ns + 1);
    CHECK(whole[1].end_ns == kReadNs);
    CHECK(join.displaced() == 2);
    CHECK_FALSE(join.is_waiting());
}

TEST_CASE("a graph of which one record is displaced has no times", "[cupti]") {
    RecordJoin join;
    join.add(operation(1, kSecond, Operation::graph_launch), 0);
    join.add(record(1, kSecond + 10, kSecond + 20, 1), 0);
    join.add(record(1, 10, 20, 2), 0);
    CHECK(join.take(RecordJoin::kQuietNs, false, false).empty());
    CHECK(join.displaced() == 1);
    CHECK_FALSE(join.is_waiting());
}

}  // namespace record_join_test
