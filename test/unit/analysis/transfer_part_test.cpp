// Patterns of copies.
#include "analysis/run/parts/own_parts.h"
#include "made_facts.h"

#include <catch2/catch.hpp>

namespace transfer_part_test {

using namespace made;

namespace {

constexpr int64_t kMiB = 1 << 20;

Call copy(OperationClass type, int32_t lane, int64_t enter_ns, int64_t bytes, int32_t step = 0,
          int64_t thread = 1) {
    return in_step(of_kind(launch(lane, enter_ns, enter_ns + 10, thread), type, bytes), step);
}
std::string row(const Written& written, const std::string& pattern, int64_t gpu = kGpu) {
    return written.ask("SELECT count, bytes, ns, steps FROM transfer_pattern WHERE pattern = '" + pattern +
                       "' AND gpu_id = " + std::to_string(gpu));
}

}  // namespace

//  thread 1   d2h(4)       sync        one
//  thread 2         sync               waits for something else
//  thread 1   d2h(4) launch sync       it went on first
//  thread 1   d2h(8192) sync           no small one
//  thread 1   d2h(4), blocking         one by itself
TEST_CASE("a small copy to the host and a wait", "[transfer_part]") {
    MadeFacts made;
    made.step(0, 10'000);
    Call blocks = copy(OperationClass::d2h, 0, 1000, 4);
    blocks.completes = true;
    Written written;
    all_of(
        make_transfer_part(made.facts), made,
        {copy(OperationClass::d2h, 0, 0, 4), sync_stream(0, 20, 25, 2), sync_stream(0, 30, 130),
         sync_stream(0, 200, 210), copy(OperationClass::d2h, 0, 300, 4), launch(0, 400, 410),
         sync_stream(0, 500, 600), copy(OperationClass::d2h, 0, 700, 8192), sync_stream(0, 800, 900), blocks},
        written);
    CHECK(row(written, "small_d2h_sync") == "2 8 120 1");
}

//  step 0     d2h(1 MiB) … h2d(1 MiB)   a round trip; h2d(2 MiB), and again 1 MiB: none
//  step 1     h2d(1 MiB)                nothing came out in this step
TEST_CASE("a round trip is the same bytes to the host and back within a step", "[transfer_part]") {
    MadeFacts made;
    made.step(0, 1000);
    made.step(1000, 2000);
    Written written;
    all_of(make_transfer_part(made.facts), made,
           {copy(OperationClass::d2h, 0, 0, kMiB), copy(OperationClass::h2d, 0, 100, 2 * kMiB),
            copy(OperationClass::h2d, 0, 200, kMiB), copy(OperationClass::h2d, 0, 300, kMiB),
            copy(OperationClass::d2h, 0, 400, 3 * kMiB), copy(OperationClass::h2d, 0, 1100, 3 * kMiB, 1)},
           written);
    CHECK(row(written, "round_trip") == "1 2097152 20 1");
    CHECK(written.ask("SELECT between_ns FROM transfer_pattern WHERE pattern = 'round_trip'") == "190");
}

//  1 MiB   out 0–10 ············ back 200          with the host 10 to 200
//  2 MiB          out 50–60 ············ back 300  and 200 to 300 more
TEST_CASE("how long bytes are with the host counts each instant once", "[transfer_part]") {
    MadeFacts made;
    made.step(0, 1000);
    Written written;
    all_of(make_transfer_part(made.facts), made,
           {copy(OperationClass::d2h, 0, 0, kMiB), copy(OperationClass::d2h, 0, 50, 2 * kMiB),
            copy(OperationClass::h2d, 0, 200, kMiB), copy(OperationClass::h2d, 0, 300, 2 * kMiB)},
           written);
    CHECK(written.ask("SELECT count, between_ns FROM transfer_pattern WHERE pattern = 'round_trip'") ==
          "2 290");
}

TEST_CASE("to another GPU and back", "[transfer_part]") {
    MadeFacts made(2, 1);
    made.step(0, 1000);
    Written written;
    all_of(make_transfer_part(made.facts), made,
           {copy(OperationClass::p2p, 0, 0, kMiB), copy(OperationClass::p2p, 0, 100, kMiB),
            copy(OperationClass::p2p, 1, 200, kMiB)},
           written);
    CHECK(row(written, "d2d_back", kGpu) == "no row");
    CHECK(row(written, "d2d_back", kGpu + 1) == "1 2097152 20 1");
}

// Ten steps: 1 MiB comes in nine of them, 2 MiB in eight, 64 KiB less one byte in all.
TEST_CASE("a repeated input is the same large copy in nearly every step", "[transfer_part]") {
    MadeFacts made;
    std::vector<Call> calls;
    for (int step = 0; step < 10; ++step) {
        made.step(step * 1000, step * 1000 + 1000);
        if (step < 9) calls.push_back(copy(OperationClass::h2d, 0, step * 1000, kMiB, step));
        if (step < 8) calls.push_back(copy(OperationClass::h2d, 0, step * 1000 + 100, 2 * kMiB, step));
        calls.push_back(copy(OperationClass::h2d, 0, step * 1000 + 200, 65'535, step));
    }
    Written written;
    all_of(make_transfer_part(made.facts), made, calls, written);
    CHECK(row(written, "repeated_input") == "9 9437184 90 9");
}

}  // namespace transfer_part_test
