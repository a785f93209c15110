// Which ways lead to a collective, by hand. Lane 0 computes, lane 1 is the collectives'.
#include "analysis/run/pass/work_paths.h"

#include "busy_scene.h"

#include <catch2/catch.hpp>

namespace work_paths_test {

using namespace busy_scene;

namespace {

constexpr int64_t kUs = 1'000;

struct Told {
    TraceFacts facts = facts_of(1, 2);
    WorkPaths paths{facts};
    int64_t group = 0;
    bool is_input = false;

    Told() { paths.begin(); }
    Told& take(const Call& call) {
        paths.take(call, false, is_input, true);
        return *this;
    }
    Told& kernel(int64_t enter, int64_t start, int64_t end) {
        return take(ran(launch(0, enter * kUs, enter * kUs), start * kUs, end * kUs));
    }
    Told& collective(int64_t enter, int64_t start, int64_t end) {
        Call call = ran(launch(1, enter * kUs, enter * kUs), start * kUs, end * kUs);
        call.type = OperationClass::comm;
        call.group_id = ++group;
        return take(call);
    }
    Told& tell(CallKind kind, int32_t lane, int64_t enter, int64_t exit, int64_t event = 77) {
        return take(other(kind, lane, event, enter * kUs, exit * kUs));
    }
    // The ways to its launch, and to its begin: "C0+50", from the end of 0; "L0+30", from its launch.
    std::string launch_of(size_t node) const { return text(paths.nodes()[node].launch); }
    std::string arrival_of(size_t node) const { return text(paths.nodes()[node].arrival); }
    static std::string text(const std::vector<WorkPath>& all) {
        std::string text;
        for (const WorkPath& path : all) {
            text += (text.empty() ? "" : " ") + std::string(path.is_launch ? "L" : "C");
            text += std::to_string(path.from) + "+" + std::to_string(path.own_ns / kUs);
            if (path.firm_ns != path.own_ns) text += "/" + std::to_string(path.firm_ns / kUs);
        }
        return text;
    }
};

}  // namespace

//  host      L0 10 ── L1 40
//  comm         [──0 100–300──][─1 300–320─]
//  compute        ███50–250███|r                 1 waits for r
TEST_CASE("a collective comes after kernels, its launch and the one before it", "[work_paths]") {
    Told told;
    told.collective(10, 100, 300).kernel(20, 50, 250);
    told.tell(CallKind::record, 0, 22, 22).tell(CallKind::wait, 1, 24, 24).collective(40, 300, 320);
    CHECK(told.launch_of(0).empty());  // what was before it is not known
    CHECK(told.arrival_of(0) == "L0+90");
    CHECK(told.launch_of(1) == "L0+30");
    CHECK(told.arrival_of(1) == "L0+240 C0+0");
}

//  host      L0 10 ──[waits for 0 until 310]── L1 350
TEST_CASE("a thread that waits for a collective launches after it", "[work_paths]") {
    Told told;
    told.collective(10, 100, 300).tell(CallKind::record, 1, 12, 12).tell(CallKind::sync, kNoLane, 30, 310);
    told.collective(350, 360, 380);
    CHECK(told.launch_of(1) == "C0+50");
    CHECK(told.arrival_of(1) == "L1+10");
    // One that has not to wait may have had to, had it come earlier.
    Told late;
    late.collective(10, 20, 80).tell(CallKind::record, 1, 12, 12).tell(CallKind::sync, kNoLane, 90, 91);
    late.collective(95, 96, 98);
    CHECK(late.launch_of(1) == "L0+85 C0+4");
    // In vain: it was told that the collective is not over yet.
    Told asked;
    asked.collective(10, 100, 300).tell(CallKind::record, 1, 12, 12).tell(CallKind::sync, kNoLane, 30, 31);
    asked.collective(50, 300, 380);
    CHECK(asked.launch_of(1) == "L0+40");
}

// Through the host's wait for 0, and then as long as before: the way from 0 to 2 says no more than both.
TEST_CASE("a way that leads through another collective is left out", "[work_paths]") {
    Told told;
    for (int64_t i = 0; i < 40; ++i) {
        const int64_t at = 100 * i;
        told.collective(at + 10, at + 40, at + 70).tell(CallKind::record, 1, at + 12, at + 12);
        told.tell(CallKind::sync, kNoLane, at + 30, at + 71).kernel(at + 72, at + 73, at + 99);
        told.tell(CallKind::record, 0, at + 74, at + 74, 78).tell(CallKind::wait, 1, at + 75, at + 75, 78);
    }
    CHECK(told.launch_of(39) == "C38+40");
    CHECK(told.arrival_of(39) == "L39+30");
}

TEST_CASE("time off the processor is no firm one, but before input", "[work_paths]") {
    const auto launch_after = [](bool is_recorded, bool is_input) {
        Told told;
        told.collective(0, 10, 20);
        Call gap = other(CallKind::host_gap, kNoLane, kNoTarget, 0, 900 * kUs);
        gap.detail = 300 * kUs;  // on its processor
        if (is_recorded) told.take(gap);
        told.is_input = is_input;
        told.kernel(900, 910, 920);
        told.is_input = false;
        told.collective(910, 920, 930);
        return told.launch_of(1);
    };
    CHECK(launch_after(true, false) == "L0+910/310");
    CHECK(launch_after(true, true) == "L0+910");
    CHECK(launch_after(false, false) == "L0+910/10");  // nothing tells what it did
}

// A launch that waits for room in the queue takes as long as the GPU does, however fast the host may be.
TEST_CASE("a full queue is no time of the host", "[work_paths]") {
    Told told;
    told.collective(0, 10, 20);
    told.take(ran(launch(0, 10 * kUs, 5000 * kUs), 5010 * kUs, 5020 * kUs)).collective(5010, 5020, 5030);
    CHECK(told.launch_of(1) == "L0+120");
}

TEST_CASE("a piece knows nothing of the one before", "[work_paths]") {
    Told told;
    told.collective(10, 100, 300);
    told.paths.begin();
    told.collective(1010, 1100, 1300).collective(1020, 1300, 1310);
    CHECK(told.launch_of(1).empty());
    CHECK(told.launch_of(2) == "L1+10");
    CHECK(told.paths.nodes()[2].piece == 1);
}

TEST_CASE("steps with the same calls are of one kind", "[work_paths]") {
    Told told;
    told.collective(10, 20, 30).kernel(40, 50, 60).collective(70, 80, 90).kernel(100, 110, 120);
    told.collective(130, 140, 150).kernel(160, 170, 180).kernel(190, 200, 210).collective(220, 230, 240);
    const auto& nodes = told.paths.nodes();
    CHECK(nodes[1].kind == nodes[2].kind);
    CHECK(nodes[2].kind != nodes[3].kind);
}

}  // namespace work_paths_test
