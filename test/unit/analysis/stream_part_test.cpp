// What streams were used for.
#include "analysis/run/parts/own_parts.h"
#include "made_facts.h"

#include <catch2/catch.hpp>

namespace stream_part_test {

using namespace made;

namespace {

std::string row(const Written& written, int stream, const std::string& columns) {
    return written.ask("SELECT " + columns + " FROM stream_stat WHERE stream_id = " + std::to_string(stream));
}
Call timed(int32_t lane, OperationClass type, int64_t start_ns, int64_t end_ns, int64_t bytes = -1) {
    return of_kind(ran(launch(lane, start_ns - 10, start_ns - 5), start_ns, end_ns), type, bytes);
}

}  // namespace

//  stream 1   ████ kernel 80   ██ h2d 20          compute: 0.8 of the busy time
//  stream 2   ████ kernel 79   ██ h2d 21          mixed
TEST_CASE("a stream has a role if four fifths of its time are that", "[stream_part]") {
    MadeFacts made(1, 4);
    Written written;
    all_of(make_stream_part(made.facts), made,
           {timed(0, OperationClass::compute, 100, 180), timed(1, OperationClass::compute, 100, 179),
            timed(2, OperationClass::comm, 100, 150), timed(0, OperationClass::h2d, 200, 220, 64),
            timed(1, OperationClass::h2d, 200, 221, 100)},
           written);
    CHECK(row(written, 1, "role, launches, copies, bytes, busy_ns, compute_ns, h2d_ns") ==
          "compute 1 1 64 100 80 20");
    CHECK(row(written, 2, "role, busy_ns") == "mixed 100");
    CHECK(row(written, 3, "role, comm_ns, first_ns, last_ns") == "comm 50 100 150");
    CHECK(row(written, 4, "role, busy_ns, first_ns, stream") == "idle 0 - 0x4");
    CHECK(row(written, -1, "role") == "no row");
}

//  stream     ████1████              a stamp says that 2 began before 1 ended
//                  ████2████
TEST_CASE("the busy time of a stream counts each instant once", "[stream_part]") {
    MadeFacts made;
    Written written;
    all_of(make_stream_part(made.facts), made,
           {timed(0, OperationClass::compute, 100, 200), timed(0, OperationClass::compute, 150, 260)},
           written);
    CHECK(row(written, 1, "busy_ns, compute_ns") == "160 160");
}

TEST_CASE("without device times roles go by counts", "[stream_part]") {
    MadeFacts made;
    std::vector<Call> calls;
    for (int i = 0; i < 4; ++i) calls.push_back(of_kind(launch(0, i, i), OperationClass::d2h, 10));
    calls.push_back(of_kind(launch(0, 5, 6), OperationClass::memset, 10));
    calls.push_back(of_kind(launch(1, 6, 7), OperationClass::graph));
    calls.push_back(of_kind(launch(1, 7, 8), OperationClass::memset, 10));
    calls.push_back(other(CallKind::collective, 1, kNoTarget, 8, 9));
    Written written;
    all_of(make_stream_part(made.facts), made, calls, written);
    CHECK(row(written, 1, "role, copies, memsets, bytes, busy_ns") == "d2h 4 1 40 0");
    CHECK(row(written, 2, "role, graphs, collectives, memsets") == "compute 1 1 1");
}

TEST_CASE("a stream's counts are of the whole run", "[stream_part]") {
    MadeFacts made(1, 3);
    made.total("kind, stream_id", "'launch', 1", 100);
    made.total("kind, stream_id, direction, sides", "'copy', 1, 1, 33", 7, 70, 7000);
    made.total("kind, stream_id, direction, sides", "'copy', 1, 5, 9", 70, 70, 7000);  // on the host
    made.total("kind, stream_id", "'copy_device', 1", 7, 70, 7000);
    made.total("kind, stream_id", "'collective', 2", 3);
    Written written;
    all_of(make_stream_part(made.facts), made, {timed(0, OperationClass::compute, 100, 180)}, written);
    CHECK(row(written, 1, "role, launches, copies, bytes, busy_ns") == "compute 100 7 7000 80");
    CHECK(row(written, 2, "role, collectives") == "- 3");
    CHECK(row(written, 3, "role") == "idle");
}

}  // namespace stream_part_test
