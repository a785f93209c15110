// Copies that are alike, worked out by hand. sides: 1 pageable, 2 pinned, 4 device; source + 8 * target.
#include "analysis/run/parts/own_parts.h"
#include "made_facts.h"

#include <catch2/catch.hpp>

namespace copy_part_test {

using namespace made;

namespace {

constexpr int64_t kPageableIn = 1 + 8 * 4, kPinnedOut = 4 + 8 * 2;

Call h2d(int32_t lane, int64_t enter_ns, int64_t bytes, int32_t step) {
    return in_step(of_kind(launch(lane, enter_ns, enter_ns + 10), OperationClass::h2d, bytes, kPageableIn),
                   step);
}
Call d2h(int32_t lane, int64_t enter_ns, int64_t bytes, int32_t step) {
    return in_step(of_kind(launch(lane, enter_ns, enter_ns + 10), OperationClass::d2h, bytes, kPinnedOut),
                   step);
}

}  // namespace

//  step 0    h2d 1 MiB  h2d 4 KiB  d2h 4 B         position 0, 1 of h2d; 0 of d2h
//  step 1    h2d 1 MiB  h2d 4 KiB  d2h 4 B
//  after     h2d 1 MiB                             in no step
TEST_CASE("copies are alike by kind, memory, size and position in their step", "[copy_part]") {
    MadeFacts made;
    made.step(0, 1000);
    made.step(1000, 2000);
    std::vector<Call> calls;
    for (int step = 0; step < 2; ++step) {
        calls.push_back(h2d(0, step * 1000, 1 << 20, step));
        calls.push_back(h2d(0, step * 1000 + 100, 4096, step));
        calls.push_back(d2h(0, step * 1000 + 200, 4, step));
    }
    calls.push_back(h2d(0, 2000, 1 << 20, kNoStep));
    Written written;
    all_of(make_operation_part(made.facts), made, calls, written);
    CHECK(written.ask("SELECT count(*), sum(count), sum(bytes) FROM copy_stat") == "4 7 3153928");
    CHECK(written.ask("SELECT source, target, blocking, bytes_each, count, bytes, call_sum_ns, steps, timed"
                      " FROM copy_stat WHERE kind = 'h2d' AND position = 0") ==
          "pageable device 0 2097152 2 2097152 20 2 0");
    CHECK(written.ask("SELECT bytes_each, steps FROM copy_stat WHERE kind = 'h2d' AND position = 1") ==
          "8192 2");
    CHECK(written.ask("SELECT source, target, bytes_each, position FROM copy_stat WHERE kind = 'd2h'") ==
          "device pinned 8 0");
    CHECK(written.ask("SELECT count, steps, best_bytes_per_s FROM copy_stat WHERE position = -1") == "1 0 -");
}

//  step 0    a b k a b k a k k b        of each size, with kernels since the one before
TEST_CASE("whether kernels were launched between copies of a size is counted", "[copy_part]") {
    MadeFacts made;
    made.step(0, 1000);
    std::vector<Call> calls;
    for (const char what : std::string("abkabkakkb")) {
        const auto at_ns = static_cast<int64_t>(calls.size()) * 20;
        const int64_t bytes = what == 'a' ? 1 << 20 : 1 << 16;
        calls.push_back(what == 'k' ? in_step(launch(0, at_ns, at_ns + 10), 0) : h2d(1, at_ns, bytes, 0));
    }
    Written written;
    all_of(make_operation_part(made.facts), made, calls, written);
    const std::string all =
        "SELECT group_concat(position || ' ' || behind_kernels, ', ') FROM (SELECT * FROM"
        " copy_stat WHERE bytes_each = ";
    CHECK(written.ask(all + "2097152 ORDER BY position)") == "0 0, 2 1, 4 1");
    CHECK(written.ask(all + "131072 ORDER BY position)") == "1 0, 3 1, 5 1");
}

//  us        0   10   20   30
//  kernel    ██████████                 the copy runs beside it for 5 us and alone for 15
//  copy           ████████████
TEST_CASE("a copy's rate, and how long nothing ran beside it", "[copy_part]") {
    MadeFacts made;
    Written written;
    all_of(make_operation_part(made.facts), made,
           {ran(launch(0, 0, 1), 0, 15'000), ran(h2d(1, 2, 40'000, kNoStep), 10'000, 30'000),
            ran(h2d(1, 3, 40'000, kNoStep), 50'000, 60'000)},
           written);
    CHECK(written.ask(
              "SELECT timed, sum_ns, timed_bytes, best_bytes_per_s, blocks_kernels_ns FROM copy_stat") ==
          "2 30000 80000 4000000000.0 25000");
    CHECK(written.ask("SELECT min_bytes, max_bytes, squares_bytes2 FROM copy_stat") ==
          "40000 40000 3200000000.0");
}

//  us        0   10   20   30   40
//  copy           ░░░░░███░░░░░           it took 10 us, or up to 40
TEST_CASE("a rate that is an estimate counts with the longest that the copy can have taken", "[copy_part]") {
    MadeFacts made;
    Written written;
    Call copy = ran(h2d(0, 0, 40'000, kNoStep), 20'000, 30'000);
    copy.times.start_low_ns = 0;
    copy.times.end_high_ns = 40'000;
    copy.times.likely_ns = 1'001;
    all_of(make_operation_part(made.facts), made, {copy}, written);
    CHECK(written.ask("SELECT sum_ns, best_bytes_per_s FROM copy_stat") == "10000 1000000000.0");
    Written exact;
    copy.times.likely_ns = 1'000;
    all_of(make_operation_part(made.facts), made, {copy}, exact);
    CHECK(exact.ask("SELECT sum_ns, best_bytes_per_s FROM copy_stat") == "10000 4000000000.0");
}

TEST_CASE("positions are found again in pieces", "[copy_part]") {
    MadeFacts made;
    made.step(0, 1000);
    auto part = make_operation_part(made.facts);
    const std::vector<Call> calls = {ran(h2d(0, 0, 100, 0), 5, 10), ran(h2d(0, 20, 100, 0), 25, 35)};
    for (const Call& call : calls) {  // seen and taken in turn
        part->see(call);
    }
    give(*part, made.whole(), {}, calls);
    Written written;
    part->finish(written.run());
    CHECK(written.ask("SELECT count, timed, sum_ns FROM copy_stat WHERE position = 0") == "1 1 5");
    CHECK(written.ask("SELECT count, timed, sum_ns FROM copy_stat WHERE position = 1") == "1 1 10");
    CHECK(written.ask("SELECT count(*) FROM copy_stat") == "2");
}

//  step      |─h2d0───h2d1─|
//  piece            |─h2d──        which one it is nobody can tell
TEST_CASE("in a piece of a part of a step positions are not known", "[copy_part]") {
    MadeFacts made;
    made.step(0, 1000);
    auto part = make_operation_part(made.facts);
    part->see(h2d(0, 0, 100, 0));
    part->see(h2d(0, 20, 100, 0));
    give(*part, piece(1, 15), {}, {ran(h2d(0, 20, 100, 0), 25, 35)});
    Written written;
    part->finish(written.run());
    CHECK(written.ask("SELECT count(*), sum(timed) FROM copy_stat WHERE position >= 0") == "2 0");
    CHECK(written.ask("SELECT count, timed, sum_ns FROM copy_stat WHERE position = -1") == "0 1 10");
}

TEST_CASE("slices of a run have no positions, and steps of many copies not more than 64", "[copy_part]") {
    MadeFacts made;
    made.step(0, 1000);
    std::vector<Call> calls;
    for (int i = 0; i < 1000; ++i) calls.push_back(h2d(0, i, 100, 0));
    Written steps;
    all_of(make_operation_part(made.facts), made, calls, steps);
    CHECK(steps.ask("SELECT count(*), max(position), max(count), max(steps) FROM copy_stat") ==
          "64 63 937 1");
    made.facts.are_slices = true;
    Written slices;
    all_of(make_operation_part(made.facts), made, calls, slices);
    CHECK(slices.ask("SELECT count(*), max(position), max(count), max(steps) FROM copy_stat") ==
          "1 -1 1000 0");
}

TEST_CASE("copies whose rows are gone stand in a row without size", "[copy_part]") {
    MadeFacts made(1, 2);
    made.total("kind, stream_id, direction, sides", "'copy', 1, 1, 33", 10, 1000, 5000);
    made.total("kind, stream_id", "'memset', 2", 6, 60, 600);
    Written written;
    all_of(make_operation_part(made.facts), made,
           {h2d(0, 0, 1000, kNoStep), of_kind(launch(1, 20, 25), OperationClass::memset, 100)}, written);
    CHECK(written.ask("SELECT sum(count), sum(bytes), sum(call_sum_ns) FROM copy_stat") == "10 5000 1000");
    CHECK(written.ask("SELECT count, bytes, min_bytes FROM copy_stat WHERE bytes_each = -1") == "9 4000 -");
    CHECK(written.ask("SELECT count, bytes, min_bytes, max_bytes FROM memset_stat WHERE stream_id = 2") ==
          "6 600 100 100");
}

}  // namespace copy_part_test
