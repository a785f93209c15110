// One pass over a trace: what is known before it, and what parts are given.
#include "analysis/run/pass/trace_pass.h"

#include "analysis/process/temporary.h"
#include "analysis/run/pass/make_facts.h"
#include "analysis/run/sql/run_db.h"
#include "made_many_steps.h"
#include "made_trace.h"

#include <algorithm>
#include <catch2/catch.hpp>

namespace trace_pass_test {

using namespace made;
using made_many_steps::many_steps;

namespace {

constexpr int64_t kUs = 1000;

// What a part was given, while somebody asks.
struct Given {
    std::vector<std::pair<int64_t, int32_t>> seen;  // enter, step
    std::vector<int64_t> waits;
    std::vector<TimedPiece> pieces;
    std::vector<std::pair<int64_t, bool>> taken;  // enter, before
    int ends = 0;
    std::vector<std::pair<size_t, size_t>> order;  // when a piece began: calls seen and taken by then
    size_t fails_after = SIZE_MAX;                 // at the next call that it sees
};
Given* given = nullptr;

constexpr LaunchWaits nobody_waits;

class Probe : public PartByCall<Probe> {
  public:
    void see(const Call& call) override {
        if (given == nullptr) return;
        given->seen.push_back({call.enter_ns, call.step});
        given->waits.push_back(call.wait_ns);
        if (given->seen.size() > given->fails_after) throw Failure("made to fail");
    }
    void begin(const TimedPiece& piece) override {
        if (given == nullptr) return;
        given->pieces.push_back(piece);
        given->order.push_back({given->seen.size(), given->taken.size()});
    }
    void take(const Call& call, bool before) override {
        if (given != nullptr) given->taken.push_back({call.enter_ns, before});
    }
    void end() override {
        if (given != nullptr) ++given->ends;
    }
    void finish(RunDb&) override {}
};
const PartRegistration kProbe([](const TraceFacts&) -> std::unique_ptr<Part> {
    return std::make_unique<Probe>();
});

TraceFacts facts_of(const Made& made) {
    int64_t next_gpu = 0;
    TraceFacts facts = make_facts(made.inputs().traces[0], 0, next_gpu, {});
    find_steps(facts);
    return facts;
}

Given given_of(const Made& made, bool reads_ahead = false, LaunchWaits waits = nobody_waits) {
    TraceFacts facts = facts_of(made);
    facts.reads_ahead = reads_ahead;
    const TemporaryFolder folder;
    RunDb run(folder.path() / "run.db");
    Given found;
    given = &found;
    pass_over(facts, waits, run);
    given = nullptr;
    return found;
}

}  // namespace

TEST_CASE("names, shapes and steps of a trace", "[facts]") {
    const Made made = marked_steps();
    const TraceFacts facts = facts_of(made);
    REQUIRE(facts.kernels.size() == 1);
    CHECK(facts.kernels[0].name == "layer");
    CHECK(facts.shapes.find(1)->blocks == 24);
    CHECK(facts.shapes.find(1)->threads_per_block == 32);
    CHECK(facts.gpus.size() == 1);
    CHECK(facts.gpu_of_lane == std::vector<int32_t>{0});
    CHECK(facts.found.source == "gpushim_step");
    REQUIRE(facts.steps.size() == 6);
    CHECK(facts.steps[2].begin_ns == 200 * kUs);
    CHECK(facts.steps[2].samples == 8);
    CHECK(!facts.are_slices);
    CHECK(facts.gpus[0].idle.latency_ns == 8 * kUs);
}

//  stream 1  untimed    K K K K K        each starts 2 us after its call was entered
//  stream 2  untimed                     nothing comes behind: over once the host has waited
TEST_CASE("a latency is known though something before it has no device times", "[facts]") {
    const auto latency_ns = [](bool waits) {
        Made made(2);
        made.launch(1 * kUs, 2 * kUs, 1);
        made.launch(3 * kUs, 4 * kUs, 2);
        if (waits) made.sync(5 * kUs, 90 * kUs);
        for (int64_t i = 1; i <= 6; ++i)
            made.timed(i * 100 * kUs, i * 100 * kUs + kUs, i * 100 * kUs + 2 * kUs, i * 100 * kUs + 50 * kUs,
                       3);
        return facts_of(made).gpus[0].idle.latency_ns;
    };
    CHECK(latency_ns(true) == 2 * kUs);
    CHECK(latency_ns(false) == 8 * kUs);  // the usual one: stream 2 may run for ever
}

// A survey ends when it has enough of each kind; a GPU that tells too few of one is asked for all.
TEST_CASE("latencies are those of enough launches, not of all", "[facts]") {
    const auto latency_ns = [](int64_t quick) {
        Made made;
        for (int64_t i = 1; i <= 12'000; ++i) {
            const int64_t enter_ns = i * 100 * kUs, start_ns = enter_ns + (i <= quick ? 2 : 9) * kUs;
            made.timed(enter_ns, enter_ns + kUs, start_ns, start_ns + 50 * kUs, 3);
        }
        return facts_of(made).gpus[0].idle.latency_ns;
    };
    CHECK(latency_ns(5'000) == 2 * kUs);
    CHECK(latency_ns(2'000) == 9 * kUs);
}

// It begins and ends with the pieces, and writes its rows, all the same.
TEST_CASE("a part that no call says anything to is given none", "[trace_pass]") {
    struct Told {
        int seen = 0, taken = 0, begun = 0, ended = 0, finished = 0;
    };
    struct Idle : PartByCall<Idle> {
        Told& told;
        const bool works;
        Idle(Told& to, bool has) : told(to), works(has) {}
        bool has_work() const override { return works; }
        void see(const Call&) override { ++told.seen; }
        void begin(const TimedPiece&) override { ++told.begun; }
        void take(const Call&, bool) override { ++told.taken; }
        void end() override { ++told.ended; }
        void finish(RunDb&) override { ++told.finished; }
    };
    const Made made = marked_steps();
    const TraceFacts facts = facts_of(made);
    const TemporaryFolder folder;
    RunDb run(folder.path() / "run.db");
    Told idle, works;
    std::vector<std::unique_ptr<Part>> parts;
    parts.push_back(std::make_unique<Idle>(idle, false));
    parts.push_back(std::make_unique<Idle>(works, true));
    pass_over(facts, nobody_waits, run, std::move(parts));
    CHECK((works.seen > 0 && works.taken > 0 && works.begun > 0));
    CHECK((idle.seen == 0 && idle.taken == 0));
    CHECK((idle.begun == works.begun && idle.ended == works.ended && idle.finished == 1));
}

// A wait of a call that is not there is nobody's.
TEST_CASE("each launch is given how long its kernel waited", "[trace_pass]") {
    Made made(2);
    for (const int64_t enter_ns : {100, 200, 300, 400}) made.launch(enter_ns * kUs, enter_ns * kUs + 10);
    const LaunchWait waits[] = {{50 * kUs, 1}, {200 * kUs, 7}, {250 * kUs, 2}, {400 * kUs, 0}};
    CHECK(given_of(made, false, waits).waits == std::vector<int64_t>{kNotRecorded, 7, kNotRecorded, 0});
    CHECK(given_of(made).waits == std::vector<int64_t>(4, kNotRecorded));
}

TEST_CASE("a run without steps is cut into slices", "[facts]") {
    Made made;
    for (int64_t i = 0; i < 3; ++i) made.launch(i * 1000 * kUs, i * 1000 * kUs + 1000);
    const TraceFacts facts = facts_of(made);
    CHECK(facts.are_slices);
    REQUIRE(facts.steps.size() >= 10);
    CHECK(facts.steps.size() <= 11);
    CHECK(facts.steps.front().begin_ns == 0);
    CHECK(facts.steps.back().end_ns == 2001 * kUs);
    for (size_t i = 1; i < facts.steps.size(); ++i)
        CHECK(facts.steps[i].begin_ns == facts.steps[i - 1].end_ns);
}

TEST_CASE("parts see all calls and take those of pieces, with their whole steps", "[trace_pass]") {
    const Made made = marked_steps();
    const TraceFacts facts = facts_of(made);
    const TemporaryFolder folder;
    RunDb run(folder.path() / "run.db");
    Given found;
    given = &found;
    const auto busy = pass_over(facts, nobody_waits, run);
    given = nullptr;
    CHECK(busy.size() == 1);
    CHECK(found.seen == std::vector<std::pair<int64_t, int32_t>>{
                            {10 * kUs, 0}, {110 * kUs, 1}, {210 * kUs, 2}, {310 * kUs, 3}, {410 * kUs, 4}});
    REQUIRE(found.pieces.size() == 1);
    CHECK(found.ends == 1);
    const TimedPiece& piece = found.pieces[0];
    CHECK(piece.known == std::vector<Interval>{{50 * kUs, 405 * kUs}});
    CHECK(piece.coverage == std::vector<double>{1});
    REQUIRE(piece.steps.size() == 3);
    CHECK(piece.steps[0].step == 1);
    CHECK(piece.steps[0].span == Interval{100 * kUs, 200 * kUs});
    CHECK(piece.steps[2].step == 3);
    // The first kernel was launched before the piece and ran on into it.
    CHECK(found.taken == std::vector<std::pair<int64_t, bool>>{
                             {10 * kUs, true}, {110 * kUs, false}, {210 * kUs, false}, {310 * kUs, false}});
}

//  us       0      100     200     600     900   1000
//  kernel     K K      K                               too few for a period: no steps
//  window   |──────────────|       |───────|       |      the second holds nothing but the program's end
TEST_CASE("a window behind the last operation is no part of a run without steps", "[trace_pass][facts]") {
    Made made;
    made.run("INSERT INTO name VALUES (9, 'layer', NULL)");
    made.run("INSERT INTO handle VALUES (9, 'function', 9, 0, NULL, NULL, NULL, 9)");
    made.run("INSERT INTO shape VALUES (1, 9, 1, 2, 3, 4, 32, 1, 1, 0, NULL, NULL, NULL, NULL)");
    for (const int64_t at : {10, 30, 100})
        made.timed(at * kUs, (at + 4) * kUs, (at + 8) * kUs, (at + 40) * kUs, 3);
    made.window(0, 200 * kUs, 3, 3);
    made.window(600 * kUs, 900 * kUs, 0, 0);
    made.ends(1000 * kUs);
    const TraceFacts facts = facts_of(made);
    CHECK(facts.are_slices);
    REQUIRE(facts.only_within);
    CHECK(*facts.only_within == Interval{10 * kUs, 140 * kUs});
}

TEST_CASE("where too few operations have device times, nothing is known of that GPU", "[trace_pass]") {
    Made made = marked_steps();
    made.run("DELETE FROM launch_device WHERE enter_ns = 210000");
    const Given found = given_of(made);
    REQUIRE(found.pieces.size() == 1);
    CHECK(found.pieces[0].known[0].length_ns() == 0);
    CHECK(found.pieces[0].coverage[0] == Approx(2 / 3.0));
}

TEST_CASE("a step of which little is left open is timed, one of which much is, is not", "[trace_pass]") {
    Made made = marked_steps();
    for (const int64_t step : {1, 2, 3}) {
        const int64_t at_ns = (100 * step + 60) * kUs, next_ns = at_ns + (step == 2 ? 20 : 1) * kUs;
        made.launch(at_ns, at_ns + 500);
        made.timed(next_ns, next_ns + 500, next_ns + 2 * kUs, next_ns + 3 * kUs, 3);
    }
    const Given found = given_of(made);
    REQUIRE(found.pieces.size() == 1);
    CHECK(found.pieces[0].coverage[0] == Approx(2 / 3.0));
    CHECK(found.pieces[0].known[0].length_ns() > 0);
    REQUIRE(found.pieces[0].steps.size() == 2);
    CHECK(found.pieces[0].steps[0].step == 1);
    CHECK(found.pieces[0].steps[1].step == 3);
}

TEST_CASE("parts on a thread of their own are given the same in the same order", "[trace_pass]") {
    const Made made = many_steps();
    const Given here = given_of(made, false), beside = given_of(made, true);
    CHECK(here.pieces.size() == 14);
    CHECK(beside.pieces.size() == here.pieces.size());
    CHECK(beside.ends == here.ends);
    CHECK(beside.seen == here.seen);
    CHECK(beside.taken == here.taken);
    CHECK(beside.order == here.order);
}

TEST_CASE("what a part throws on its own thread is thrown where the pass was asked for", "[trace_pass]") {
    const Made made = many_steps();
    TraceFacts facts = facts_of(made);
    const TemporaryFolder folder;
    const size_t after = GENERATE(as<size_t>{}, 0, 1, 2000, 6299);  // calls; of 6,300
    for (const bool reads_ahead : {false, true}) {
        facts.reads_ahead = reads_ahead;
        RunDb run(folder.path() / "run.db");
        Given found;
        found.fails_after = after;
        given = &found;
        CHECK_THROWS_AS(pass_over(facts, nobody_waits, run), Failure);
        given = nullptr;
        CHECK(found.seen.size() == after + 1);
    }
}

}  // namespace trace_pass_test
