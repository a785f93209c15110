// A whole analysis: the rows about a trace as a whole, and the same ones however it is done.
#include "analysis/run/analyze.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <string>
#include <vector>

#include "analysis/failure.h"
#include "analysis/process/temporary.h"
#include "analysis/report/printed.h"
#include "analysis/run/sql/run_db.h"
#include "made_many_steps.h"
#include "made_trace.h"

namespace analyze_test {

using namespace made;
using made_many_steps::many_steps;

namespace {

void no_advice(sqlite3*, CountedSteps) {}

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

}  // namespace analyze_test
