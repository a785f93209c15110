// What a host thread did, from its calls and gap rows.
#include "analysis/idle/host_line.h"

#include <catch2/catch.hpp>
#include <string>

namespace idle_host_line_test {

using namespace gpushim::analysis;

namespace {

// A letter per nanosecond.
std::string drawn(const HostLine& line, int64_t from, int64_t until) {
    std::string result;
    for (const HostPiece& piece : line.pieces(from, until)) {
        CHECK(piece.from_ns == from + static_cast<int64_t>(result.size()));
        result.append(static_cast<size_t>(piece.until_ns - piece.from_ns),
                      "ISHAGCLKZDworqbp?"[static_cast<size_t>(piece.what)]);
    }
    return result;
}

}  // namespace

TEST_CASE("a line is its calls, and unknown between them", "[idle][host_line]") {
    HostLine line;
    CHECK(drawn(line, 0, 4) == "????");
    line.add(HostCall{What::launch, 2, 5, 0});
    line.add(HostCall{What::sync, 5, 8});
    line.add(HostCall{What::staging, 10, 12});
    line.add(HostCall{What::other_call, 12, 12});
    CHECK(drawn(line, 0, 14) == "??LLLSSS??HH??");
    CHECK(drawn(line, 4, 11) == "LSSS??H");
    CHECK(drawn(line, 8, 10) == "??");
    CHECK(line.pieces(5, 5).empty());
}

//  comm   0─────────────10
//  in it    2┌alloc┐5 6┌L┐8 9┌sync────┐12
TEST_CASE("a call inside another counts where it comes first in the rule", "[idle][host_line]") {
    HostLine line;
    line.add(HostCall{What::comm, 0, 10});
    line.add(HostCall{What::alloc_or_load, 2, 5});
    line.add(HostGap{5, 6, 1});
    line.add(HostCall{What::launch, 6, 8, 0});
    line.add(HostCall{What::sync, 9, 12});
    CHECK(drawn(line, 0, 13) == "CCAAACCCCSSS?");
    CHECK(line.pieces(0, 2)[0].enter_ns == 0);
    CHECK(line.size() == 4);
}

TEST_CASE("a gap row is laid out as blocked, ready, running", "[idle][host_line]") {
    HostLine line;
    line.add(HostGap{0, 10, 4, 2, 7});
    line.add(HostGap{10, 16, 2, 1, 8, true});
    line.add(HostGap{16, 18, {}});
    line.add(HostGap{18, 20, 5, 5});  // more than there is
    line.add(HostGap{20, 23, 0, 9});
    CHECK(drawn(line, 0, 23) == "bbbbqqrrrrrrbbbq??rrqqq");
    CHECK(line.pieces(0, 1)[0].blocked_on == 7);
    CHECK(line.pieces(9, 10)[0].blocked_on == kNotSampled);
}

//      0   4     8     12
// W    |─────────────────|      a frame that waits
// L        |─|   |─|            what is launched meanwhile is launching
TEST_CASE("what is called in a frame that waits says more than the frame", "[idle][host_line]") {
    HostLine line;
    line.add(HostCall{What::told_wait, 0, 12});
    line.add(HostCall{What::launch, 4, 6, 0});
    line.add(HostCall{What::launch, 8, 10, 0});
    CHECK(drawn(line, 0, 12) == "wwwwLLwwLLww");
    CHECK(line.is_in_launch_loop(line.pieces(6, 8)[0], 0));
}

TEST_CASE("of two rows that say blocked the one counts that knows on what", "[idle][host_line]") {
    HostLine line;
    line.add(HostGap{0, 10, 0});
    line.add(HostGap{1, 9, 0, 0, 7});
    line.add(HostGap{2, 8, 0, 0, kNotSampled});
    CHECK(drawn(line, 0, 10) == "bbbbbbbbbb");
    CHECK(line.pieces(0, 1)[0].blocked_on == kNotSampled);
    CHECK(line.pieces(5, 6)[0].blocked_on == 7);
    CHECK(line.pieces(9, 10)[0].blocked_on == kNotSampled);
}

//  row    0──────────────20      21┌sync┐
//  seen      4: 0   10: 1              22: 2, which is in no gap
TEST_CASE("a sample stands for the time around it, within its gap", "[idle][host_line]") {
    HostLine line;
    line.add(HostGap{0, 20, 5});
    line.add(HostSample{4, 0});
    line.add(HostSample{10, 1, PythonDoes::loads});
    line.add(HostCall{What::sync, 21, 24});
    line.add(HostSample{22, 2});
    CHECK(drawn(line, 0, 24) == "bbbbbbbbbbbbbbbrrrrr?SSS");
    std::string lines, loads;
    for (const HostPiece& piece : line.pieces(0, 24)) {
        const auto length = static_cast<size_t>(piece.until_ns - piece.from_ns);
        lines.append(length,
                     piece.python_line == kNotSampled ? '.' : static_cast<char>('0' + piece.python_line));
        loads.append(length, piece.does == PythonDoes::loads ? 'L' : '.');
    }
    CHECK(lines == "00000001111111111111....");
    CHECK(loads == ".......LLLLLLLLLLLLL....");
    CHECK(line.samples_in(0, 24) == 2);
    CHECK(line.samples_in(4, 10) == 1);
    CHECK(line.samples_in(5, 10) == 0);
}

//  L┐10  12┌other┐14  ─row─  20┌copy┐25
TEST_CASE("around a time outside of calls are those that decide", "[idle][host_line]") {
    HostLine line;
    line.add(HostCall{What::launch, 0, 10, 0});
    line.add(HostCall{What::other_call, 12, 14});
    line.add(HostGap{14, 20, 6});
    line.add(HostCall{What::staging, 20, 25});
    for (const int64_t t : {10, 13, 19}) {
        const Stretch stretch = line.around(t);
        REQUIRE((stretch.before && stretch.after));
        CHECK(stretch.before->until_ns == 10);
        CHECK(stretch.after->from_ns == 20);
    }
    CHECK_FALSE(line.around(25).after);
    CHECK(line.around(25 + kBetweenOperatorsNs).before);
    CHECK_FALSE(line.around(26 + kBetweenOperatorsNs).before);
}

TEST_CASE("a sync touches what it ends at", "[idle][host_line]") {
    HostLine line;
    line.add(HostCall{What::sync, 10, 20});
    CHECK(line.sync_at(10, 10));
    CHECK(line.sync_at(20, 20));
    CHECK_FALSE(line.sync_at(21, 21));
    CHECK_FALSE(line.sync_at(9, 9));
    CHECK(line.sync_at(8, 10));
    CHECK(line.sync_at(0, 90));
}

TEST_CASE("a line that forgets stays small and says the same of what is left", "[idle][host_line]") {
    HostLine line, whole;
    size_t most = 0;
    for (int64_t t = 0; t < 10'000'000; t += 1000) {
        const HostCall call = {What::launch, t, t + 400, 0};
        line.add(call);
        whole.add(call);
        line.forget_before(t);
        most = std::max(most, line.size());
        const Stretch stretch = line.around(t), expected = whole.around(t);
        const auto until = [](const Stretch& of) { return of.before ? of.before->until_ns : -1; };
        if (until(stretch) != until(expected)) FAIL(t);
    }
    CHECK(most < 1025);
    CHECK(whole.size() == 10'000);
    CHECK(drawn(line, 9'999'390, 9'999'410) == drawn(whole, 9'999'390, 9'999'410));
}

//  loader        0───────────────8
//  sync               3══5
//  operator                          10──────────────18
//  launch                                 12══14
TEST_CASE("what the framework told counts behind calls, but for its loader", "[idle][host_line]") {
    HostLine line;
    CHECK_FALSE(line.is_told_at(20));
    line.add(HostCall{What::loading, 0, 8});
    line.add(HostCall{What::sync, 3, 5});
    line.add(HostCall{What::dispatching, 10, 18});
    line.add(HostCall{What::launch, 12, 14, 0});
    line.add(HostCall{What::python, 18, 20});
    CHECK(drawn(line, 0, 21) == "IIIIIIII??DDLLDDDDpp?");
    CHECK(line.is_told_at(20));
    CHECK(line.is_loading_told());
}

}  // namespace idle_host_line_test
