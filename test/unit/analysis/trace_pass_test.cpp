// One pass over a trace: what parts are given, and the rows about the trace as a whole.
#include "analysis/run/pass/trace_pass.h"

#include "analysis/process/temporary.h"
#include "analysis/report/printed.h"
#include "analysis/run/analyze.h"
#include "analysis/run/pass/make_facts.h"
#include "analysis/run/sql/run_db.h"
#include "made_trace.h"

#include <algorithm>
#include <catch2/catch.hpp>

namespace trace_pass_test {

using namespace made;

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
void no_advice(sqlite3*, CountedSteps) {}

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

template <class Ask>
auto ask(const std::filesystem::path& file, const std::string& sql, Ask read) {
    const Database base(file);
    Query query = base.prepare(sql);
    REQUIRE(query.step());
    return read(query);
}
int64_t number_in(const std::filesystem::path& file, const std::string& sql) {
    return ask(file, sql, [](const Query& query) { return query.number(0); });
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

TEST_CASE("a run's rows about its traces, the same when it is analysed again", "[analyze]") {
    const Made made = marked_steps();
    const TemporaryFolder folder;
    const auto file = folder.path() / "run.db";
    for (int again = 0; again < 2; ++again) {
        CHECK(analyze(made.inputs(), {}, file, no_advice) == file);
        CHECK(is_run(Database(file)));
        CHECK(number_in(file, "SELECT count(*) FROM rank") == 1);
        CHECK(number_in(file, "SELECT count(*) FROM gpu") == 1);
        CHECK(number_in(file, "SELECT count(*) FROM step") == 6);
        CHECK(number_in(file, "SELECT sum(left_out) FROM step") == 1);
        CHECK(number_in(file, "SELECT value FROM run WHERE key = 'traces'") == 1);
        CHECK(ask(file, "SELECT steps_source, level FROM rank", [](const Query& query) {
                  return query.text(0) + " " + query.text(1);
              }) == "gpushim_step events");
    }
    CHECK(std::distance(std::filesystem::directory_iterator(folder.path()),
                        std::filesystem::directory_iterator()) == 1);
}

namespace {

// Steps of 100 us with eight launches on two streams, more than are handed over at once; windows over several
// steps, and between them some without device times.
Made many_steps() {
    Made made = Made(2);
    made.run("INSERT INTO name VALUES (9, 'layer', NULL)");
    made.run("INSERT INTO handle VALUES (9, 'function', 9, 0, NULL, NULL, NULL, 9)");
    made.run("INSERT INTO shape VALUES (1, 9, 1, 2, 3, 4, 32, 1, 1, 0, NULL, NULL, NULL, NULL)");
    made.clock();
    made.run("BEGIN");
    constexpr int64_t kSteps = 700, kLaunches = 8, kOfWindow = 50, kTimed = 30;
    for (int64_t step = 0; step < kSteps; ++step) {
        const int64_t at_ns = step * 100 * kUs;
        made.run("INSERT INTO marker VALUES (" + std::to_string(at_ns) +
                 ", 1, 'step', NULL, 8, NULL, NULL, NULL, NULL, 0)");
        for (int64_t i = 1; i <= kLaunches; ++i) {
            const int64_t enter_ns = at_ns + i * 10 * kUs, start_ns = enter_ns + (3 + step % 7) * kUs;
            const int stream = i % 3 == 0 ? 2 : 1;
            if (step % kOfWindow < kTimed)
                made.timed(enter_ns, enter_ns + kUs, start_ns, start_ns + 4 * kUs, 1, stream);
            else
                made.launch(enter_ns, enter_ns + kUs, stream);
        }
        made.sync(at_ns + 92 * kUs, at_ns + 97 * kUs);
        if (step % kOfWindow == 0)
            made.window(at_ns, at_ns + kTimed * 100 * kUs, kTimed * kLaunches, kTimed * kLaunches);
    }
    made.run("COMMIT");
    made.ends(kSteps * 100 * kUs);
    return made;
}

// Every row of every table, in the order in which they lie there.
std::vector<std::string> rows_of(const std::filesystem::path& file) {
    const Database base(file);
    std::vector<std::string> tables, rows;
    Query names = base.prepare("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY 1");
    while (names.step()) tables.push_back(names.text(0));
    for (const std::string& table : tables) {
        Query query = base.prepare("SELECT * FROM \"" + table + "\"");
        while (query.step()) {
            std::string row = table;
            for (int i = 0; i < query.columns(); ++i) row += "|" + query.text(i);
            rows.push_back(row);
        }
    }
    return rows;
}

}  // namespace

TEST_CASE("a run has the same rows with however many processors", "[analyze]") {
    const Made made = many_steps();
    const TemporaryFolder folder;
    const auto analysed = [&](size_t processors) {
        const auto file = folder.path() / (std::to_string(processors) + ".db");
        RunOptions options;
        options.processors = processors;
        analyze(made.inputs(), options, file, no_advice);
        return rows_of(file);
    };
    const auto one = analysed(1);
    CHECK(one.size() > 700);
    CHECK(analysed(2) == one);
    CHECK(analysed(8) == one);
}

namespace {

std::vector<std::vector<int64_t>> numbers_of(const CountedSteps& steps) {
    std::vector<std::vector<int64_t>> all;
    for (const GpuInStep& row : steps.rows()) {
        all.push_back({row.gpu_id, row.rank_id, row.step, row.number, row.window_ns, row.busy_ns,
                       row.busy_low_ns, row.busy_high_ns, row.busy_likely_low_ns, row.busy_likely_high_ns,
                       row.waiting_ns, row.productive_ns, row.transfer_ns, row.exposed_transfer_ns,
                       row.compute_beside_no_transfer_ns, row.latency_ns, row.kernel_gap_ns,
                       int64_t{row.loads_code}});
        for (const IdlePart& part : row.idle)
            all.push_back(
                {static_cast<int64_t>(part.cause), part.ns, part.drained_ns, part.longest_ns, part.pieces});
    }
    for (const CauseRow& cause : kCauses) all.push_back(steps.largest_gaps({cause.name}));
    for (const GpuTotal& total : steps.totals()) {
        all.push_back({total.gpu_id, total.steps, total.busy_low_ns, total.busy_high_ns,
                       total.busy_likely_low_ns, total.busy_likely_high_ns});
        all.emplace_back(total.ran_ns.begin(), total.ran_ns.end());
        for (const GpuTotal::Idle& idle : total.idle) all.push_back({idle.rows, idle.ns, idle.drained_ns});
    }
    return all;
}

size_t compared = 0;
void compare_with_rows(sqlite3* run, CountedSteps kept) {
    const auto read = numbers_of(CountedSteps(run));
    CHECK(numbers_of(kept) == read);
    compared = read.size();
}

}  // namespace

TEST_CASE("why GPUs were idle is kept as the rows of the run say it", "[analyze]") {
    const Made made = many_steps();
    const TemporaryFolder folder;
    analyze(made.inputs(), {}, folder.path() / "run.db", compare_with_rows);
    CHECK(compared > 300);
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

TEST_CASE("who asks for lines alone gets the same, and no pass over the traces for the rest", "[report]") {
    const Made made = marked_steps();
    const TemporaryFolder folder;
    analyze(made.inputs(), {}, folder.path() / "run.db", no_advice);
    const Database run(folder.path() / "run.db");
    const auto written = [&](bool only_lines, bool all) {
        ReportOptions options;
        options.only_lines = only_lines;
        options.all = all;
        return write_report({run, &made.inputs(), options});
    };
    for (const bool all : {false, true}) CHECK(as_text(written(true, all)) == as_text(written(false, all)));
    const auto full = written(false, false).json.keys(), few = written(true, false).json.keys();
    const auto has = [](const auto& keys, const char* key) {
        return std::find(keys.begin(), keys.end(), key) != keys.end();
    };
    for (const char* key : {"windows", "calls", "devices"}) {
        CHECK(has(full, key));
        CHECK_FALSE(has(few, key));
    }
    CHECK(has(few, "contradictions"));
}

TEST_CASE("a run that cannot be written says so and leaves nothing", "[analyze]") {
    const Made made = marked_steps();
    CHECK_THROWS_AS(analyze(made.inputs(), {}, "/nowhere/run.db", no_advice), Failure);
}

}  // namespace trace_pass_test
