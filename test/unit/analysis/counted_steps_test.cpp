// What a run's figures are of, read once: the same as its views say, which are asked here.
#include "analysis/run/sql/counted_steps.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "analysis/process/temporary.h"
#include "analysis/run/ranks/peer_events.h"
#include "analysis/run/sql/run_db.h"
#include "bare_rank.h"
#include "known_row.h"
#include "run_rows.h"

namespace counted_steps_test {

using namespace made;

namespace {

constexpr const char* kSomeCauses[] = {"input_cpu", "sync", "launch_call", "launch_latency", "copy_staging"};

// Ranks with steps, slices or neither; warm-up, steps that were not timed, what lies in none; steps unlike
// most, or behind all that was timed, or that do not count, and a GPU that is not used; rows of a cause for
// each thing that a thread was blocked on, in any order.
RunRows any_run(std::mt19937& random) {
    const auto up_to = [&](int64_t most) { return std::uniform_int_distribution<int64_t>(0, most)(random); };
    RunRows run;
    for (int64_t gpu = 0; gpu < 4; ++gpu) {
        run.rank(gpu, up_to(2) == 0 ? "none" : "gpushim_step");
        for (int64_t step = -1; step < 6; ++step) {
            StepOf is;
            for (const int64_t classes : {1, 2, 4, 6, 8, 9, 16, 64, 128, 256, 258, 512})
                if (up_to(2) == 0) is.ran[classes] = 1 + up_to(1000);
            for (const char* cause : kSomeCauses)
                if (up_to(1) == 0) is.idle[cause] = 1 + up_to(3);
            if (is.window_ns() > 0 && up_to(4) != 0) run.step(gpu, step, is);
        }
    }
    run.change(
        "DELETE FROM step WHERE step = -1; UPDATE step SET warm_up = step % 5 = 0, has_load = step % 3 = 0,"
        " number = step * 2;"
        " UPDATE gpu_step SET busy_low_ns = busy_low_ns - step * 7, busy_high_ns = busy_high_ns + step - 1,"
        " busy_likely_low_ns = busy_likely_low_ns - step * 3, busy_likely_high_ns = busy_high_ns - 1;"
        " UPDATE gap SET drained_by_sync_ns = ns / 2;"
        " INSERT INTO gap SELECT gpu_id, step, cause, 'futex', ns * 2, 3, 1, 1, 1 FROM gap"
        " WHERE ns % 2 = 0 ORDER BY ns, gpu_id DESC");
    const auto some_gpu = [&] { return std::to_string(up_to(7)) + ";"; };  // of four: in every other run
    run.change("INSERT INTO unlike_steps SELECT gpu_id FROM gpu WHERE gpu_id = " + some_gpu() +
               "UPDATE gpu SET unused = 1 WHERE gpu_id = " + some_gpu() +
               "UPDATE step SET begin_ns = 100 + step * 10;"
               "UPDATE gpu SET timed_until_ns = 105 + gpu_id * 10;"
               "UPDATE step SET warm_up = 1 WHERE step < 3 AND rank_id = " +
               some_gpu() + "UPDATE step SET left_out = 1 WHERE rank_id = " + some_gpu() +
               "DELETE FROM step WHERE step = " + some_gpu());
    return run;
}

std::vector<std::string> rows_of(const RunRows& run, const std::string& sql) {
    std::vector<std::string> all;
    Query query = run.ask(sql);
    while (query.step()) {
        std::string row;
        for (int i = 0; i < query.columns(); ++i) row += query.text(i) + "|";
        all.push_back(row);
    }
    return all;
}

std::string row_of(std::initializer_list<int64_t> numbers) {
    std::string row;
    for (const int64_t number : numbers) row += std::to_string(number) + "|";
    return row;
}

}  // namespace

TEST_CASE("sums are those of the views", "[basis][random]") {
    std::mt19937 random(20261122);
    size_t totals_seen = 0;
    for (int round = 0; round < 40; ++round) {
        const RunRows run = any_run(random);
        const CountedSteps basis(run.raw());
        INFO("round " << round);
        std::vector<std::string> totals, idle;
        for (const GpuTotal& total : basis.totals()) {
            std::string row = std::to_string(total.gpu_id) + "|" + total.basis + "|";
            row += row_of({total.steps});
            for (size_t i = 0; i <= static_cast<size_t>(WhatRan::exposed_comm); ++i)
                row += row_of({total.ran_ns[i]});
            totals.push_back(row + row_of({total.busy_low_ns, total.busy_high_ns, total.busy_likely_low_ns,
                                           total.busy_likely_high_ns}));
            for (const CauseRow& cause : kCauses)
                if (const auto& sum = total.idle[static_cast<size_t>(cause.cause)]; sum.rows != 0)
                    idle.push_back(std::to_string(total.gpu_id) + "|" + cause.name + "|" +
                                   name_of(cause.group) + "|" + row_of({sum.ns, sum.drained_ns}));
        }
        CHECK(totals == rows_of(run,
                                "SELECT gpu_id, basis, steps, window_ns, busy_ns, idle_ns,"
                                " waiting_for_peer_ns, productive_ns, exposed_transfer_ns, memory_ns,"
                                " compute_ns, copy_ns, comm_ns, exposed_comm_ns, busy_low_ns, busy_high_ns, "
                                "busy_likely_low_ns,"
                                " busy_likely_high_ns FROM v_gpu_total"
                                " ORDER BY gpu_id"));
        std::sort(idle.begin(), idle.end());
        auto in_sql = rows_of(run, "SELECT * FROM v_gpu_idle");
        std::sort(in_sql.begin(), in_sql.end());
        CHECK(idle == in_sql);
        totals_seen += totals.size();
    }
    CHECK(totals_seen > 100);
}

TEST_CASE("sums of some steps are those of the views' rows of them", "[basis][random]") {
    std::mt19937 random(20261129);
    size_t totals_seen = 0;
    for (int round = 0; round < 40; ++round) {
        const RunRows run = any_run(random);
        const CountedSteps basis(run.raw(), StepNumbers{2, 6});
        INFO("round " << round);
        std::vector<std::string> totals;
        int64_t idle_ns = 0;
        for (const GpuTotal& total : basis.totals()) {
            totals.push_back(row_of({total.gpu_id, total.steps, total.ns(WhatRan::window),
                                     total.ns(WhatRan::busy), total.ns(WhatRan::compute)}));
            for (const GpuTotal::Idle& idle : total.idle) idle_ns += idle.ns;
        }
        CHECK(totals == rows_of(run,
                                "SELECT gpu_id, count(*), sum(window_ns), sum(busy_ns), sum(compute_ns)"
                                " FROM v_gpu_counted WHERE number BETWEEN 2 AND 6 GROUP BY 1 ORDER BY 1"));
        CHECK(row_of({idle_ns}) ==
              rows_of(run,
                      "SELECT coalesce(sum(p.ns), 0) FROM v_gpu_basis b JOIN gap p ON p.gpu_id = b.gpu_id"
                      " AND p.step = b.step WHERE b.number BETWEEN 2 AND 6")
                  .front());
        totals_seen += totals.size();
    }
    CHECK(totals_seen > 50);
}

TEST_CASE("steps of GPUs and why they were idle are those of the views", "[basis][random]") {
    std::mt19937 random(7);
    for (int round = 0; round < 40; ++round) {
        const RunRows run = any_run(random);
        const CountedSteps basis(run.raw());
        INFO("round " << round);
        std::vector<std::string> rows, idle;
        for (const GpuInStep& row : basis.rows()) {
            CHECK(basis.find(row.gpu_id, row.step) == &row);
            rows.push_back(row_of({row.gpu_id, row.step, row.number, row.window_ns, row.busy_ns,
                                   row.waiting_ns, row.busy_low_ns, row.busy_high_ns, row.busy_likely_low_ns,
                                   row.busy_likely_high_ns, row.transfer_ns, row.exposed_transfer_ns,
                                   row.compute_beside_no_transfer_ns, row.loads_code}));
            for (const IdlePart& part : row.idle)
                idle.push_back(row_of({row.gpu_id, row.step}) + name_of(part.cause) + "|" +
                               row_of({part.ns, part.pieces, part.drained_ns}));
        }
        CHECK(rows ==
              rows_of(run,
                      "SELECT c.gpu_id, c.step, coalesce(c.number, c.step), c.window_ns,"
                      " c.busy_ns, c.waiting_for_peer_ns, c.busy_low_ns, c.busy_high_ns,"
                      " c.busy_likely_low_ns, c.busy_likely_high_ns,"
                      " sum(CASE WHEN a.classes & 2 > 0 THEN a.ns ELSE 0 END),"
                      " sum(CASE WHEN a.classes & 2 > 0 AND a.classes & ~6 = 0 THEN a.ns ELSE 0 END),"
                      " sum(CASE WHEN a.classes & 257 > 0 AND a.classes & 2 = 0 THEN a.ns ELSE 0 END),"
                      " coalesce(s.has_load, 0)"
                      " FROM v_gpu_counted c JOIN activity a USING (gpu_id, step)"
                      " LEFT JOIN step s ON s.rank_id = c.gpu_id AND s.step = c.step"
                      " GROUP BY c.gpu_id, c.step"));
        CHECK(idle == rows_of(run,
                              "SELECT b.gpu_id, b.step, p.cause, sum(p.ns), sum(p.pieces),"
                              " sum(p.drained_by_sync_ns) FROM v_gpu_basis b JOIN gap p USING (gpu_id, step)"
                              " GROUP BY b.gpu_id, b.step, p.cause"));
        for (const Causes& causes :
             {Causes{"sync"}, Causes{"sync", "input_cpu", "copy_staging"}, Causes{"tail"}}) {
            std::string names;
            for (const CauseRow& cause : kCauses)
                if (causes.has(cause.cause))
                    names += (names.empty() ? "'" : ", '") + std::string(cause.name) + "'";
            std::vector<std::string> largest;
            for (const int64_t rowid : basis.largest_gaps(causes)) largest.push_back(row_of({rowid}));
            CHECK(largest == rows_of(run,
                                     "SELECT p.rowid FROM gap p JOIN v_gpu_basis b USING (gpu_id, step)"
                                     " WHERE p.cause IN (" +
                                         names + ") ORDER BY p.ns DESC, p.rowid LIMIT 3"));
        }
    }
}

namespace {

WrittenRank kept_rank(const RunRows& run, int64_t rank_id, bool are_slices) {
    WrittenRank rank = {rank_id, are_slices};
    Query steps = run.ask(
        "SELECT number, begin_ns, dur_ns, step FROM step WHERE rank_id = ?1 AND warm_up = 0 AND left_out = 0"
        " ORDER BY step",
        {rank_id});
    while (steps.step())
        rank.steps.push_back(
            {steps.number(0), steps.number(1), steps.number(2), static_cast<int32_t>(steps.number(3))});
    return rank;
}

void keep_gaps(const RunRows& run, WrittenGpu& gpu) {
    Query gaps = run.ask(
        "SELECT step, ns, drained_by_sync_ns, longest_ns, pieces, cause, rowid FROM gap WHERE gpu_id = ?1"
        " ORDER BY rowid",
        {gpu.gpu_id});
    while (gaps.step()) {
        if (gpu.gaps.empty()) gpu.first_gap = gaps.number(6);
        gpu.gap_steps.push_back(static_cast<int32_t>(gaps.number(0)));
        gpu.gaps.push_back({gaps.number(1), gaps.number(2), gaps.number(3),
                            static_cast<int32_t>(gaps.number(4)), cause_named(gaps.text(5))});
    }
}

WrittenGpu kept_gpu(const RunRows& run, int64_t gpu_id) {
    WrittenGpu gpu = {gpu_id};
    Query steps = run.ask(
        "SELECT step, window_ns, busy_low_ns, busy_high_ns, busy_likely_low_ns, busy_likely_high_ns"
        " FROM gpu_step WHERE gpu_id = ?1 ORDER BY step",
        {gpu_id});
    while (steps.step())
        gpu.steps.push_back({static_cast<int32_t>(steps.number(0)), steps.number(1), steps.number(2),
                             steps.number(3), steps.number(4), steps.number(5), 0, 0});
    Query activity =
        run.ask("SELECT step, classes, ns FROM activity WHERE gpu_id = ?1 ORDER BY step", {gpu_id});
    while (activity.step())
        gpu.activity.push_back({static_cast<int32_t>(activity.number(0)),
                                static_cast<uint32_t>(activity.number(1)), activity.number(2)});
    keep_gaps(run, gpu);
    return gpu;
}

// As those who write rows keep them. A GPU's rows of `gap` have to follow each other, in order of the step.
WrittenRun kept_rows(const RunRows& run) {
    WrittenRun kept;
    Query ranks = run.ask("SELECT rank_id, steps_source = 'none' FROM rank ORDER BY rank_id");
    while (ranks.step()) kept.ranks.push_back(kept_rank(run, ranks.number(0), ranks.number(1) != 0));
    Query gpus = run.ask("SELECT DISTINCT gpu_id FROM activity ORDER BY gpu_id");
    while (gpus.step()) kept.gpus.push_back(kept_gpu(run, gpus.number(0)));
    return kept;
}

// Then all rows are read.
void leave_one_out(WrittenRun& kept, int which) {
    WrittenGpu& gpu = kept.gpus.front();
    if (which == 0) kept.ranks.pop_back();
    if (which == 1) gpu.steps.pop_back();
    if (which == 2) gpu.activity.pop_back();
    if (which == 3) gpu.gaps.pop_back();
    if (which == 3) gpu.gap_steps.pop_back();
}

std::vector<std::string> all_of(const CountedSteps& basis) {
    std::vector<std::string> all;
    for (const GpuInStep& row : basis.rows()) {
        all.push_back(row_of({row.gpu_id, row.rank_id, row.step, row.number, row.window_ns, row.busy_ns,
                              row.busy_low_ns, row.busy_likely_high_ns, row.waiting_ns, row.transfer_ns,
                              row.latency_ns, row.kernel_gap_ns, row.loads_code}));
        for (const IdlePart& part : row.idle)
            all.back() += row_of(
                {static_cast<int64_t>(part.cause), part.ns, part.drained_ns, part.longest_ns, part.pieces});
    }
    for (const GpuTotal& total : basis.totals()) {
        all.push_back(row_of({total.gpu_id, total.steps, total.busy_low_ns, total.busy_high_ns}) +
                      std::string(total.basis));
        for (const int64_t ns : total.ran_ns) all.back() += row_of({ns});
        for (const GpuTotal::Idle& idle : total.idle)
            all.back() += row_of({idle.rows, idle.ns, idle.drained_ns});
    }
    for (const CauseRow& cause : kCauses)
        for (const int64_t rowid : basis.largest_gaps({cause.name})) all.push_back(row_of({rowid}));
    return all;
}

}  // namespace

TEST_CASE("rows that are kept say what rows that are read say", "[basis][random]") {
    std::mt19937 random(20261130);
    size_t rows_seen = 0;
    for (int round = 0; round < 60; ++round) {
        RunRows run = any_run(random);
        run.change(
            "CREATE TEMP TABLE sorted AS SELECT * FROM gap ORDER BY gpu_id % 3, gpu_id, step, ns % 7;"
            "DELETE FROM gap; INSERT INTO gap SELECT * FROM sorted");
        INFO("round " << round);
        const auto read = all_of(CountedSteps(run.raw()));
        int beside = 0;
        CHECK(all_of(CountedSteps(run.raw(), kept_rows(run), [&] { ++beside; })) == read);
        WrittenRun some = kept_rows(run);
        leave_one_out(some, round % 4);
        CHECK(all_of(CountedSteps(run.raw(), std::move(some), [&] { ++beside; })) == read);
        CHECK(beside == 2);
        rows_seen += read.size();
    }
    CHECK(rows_seen > 1000);
}

namespace {

// A rank with a step of 100 ns, of which a GPU is known for so long, and waits for its peer. Kept, too.
void keep_one_step(RunDb& run, int64_t rank, int64_t window_ns, int64_t wait_ns) {
    add_rank(run, rank, 2);
    add_known(run.raw(), "gpu", {{"gpu_id", rank}, {"rank_id", rank}, {"level", "events"}});
    add_known(run.raw(), "collective_instance",
              {{"instance", 0}, {"rank_id", rank}, {"comm_rank", rank}, {"ranks", 2}, {"parts", 2}});
    add_known(run.raw(), "step", {{"rank_id", rank}, {"step", 0}, {"dur_ns", 100}});
    run.keep(WrittenRank{rank, false, {{0, 0, 100, 0}}});
    WrittenGpu gpu = {rank};
    gpu.steps = {{0, window_ns, 0, 0, 0, 0, window_ns - wait_ns, 0}};
    gpu.activity = {{0, 1, window_ns - wait_ns}, {0, 4, wait_ns}};
    run.add("gpu_step",
            {rank, 0, window_ns, 0, 0, 0, 0, int64_t{1}, int64_t{1}, 0, 0, 0, window_ns - wait_ns});
    for (const WrittenGpu::Activity& row : gpu.activity)
        run.add("activity", {rank, 0, int64_t{row.classes}, row.ns});
    run.keep(std::move(gpu));
}

}  // namespace

//  GPU 0   |── 75 ──|~~ 20 ~~|  5 are left out     its peer, which waits least, is without 3: it waited for
//  GPU 1   |────── 95 ────|~2|  3                  these only, so that its wait is 22 of 97
TEST_CASE("rows that were changed after they were kept are read", "[basis]") {
    const TemporaryFolder folder;
    RunDb run(folder.path() / "run.db");
    keep_one_step(run, 0, 95, 20);
    keep_one_step(run, 1, 97, 2);
    leave_out_peers_events(run);
    const CountedSteps basis = run.derive();
    const auto of = [&](int64_t gpu) {
        return row_of({basis.find(gpu, 0)->window_ns, basis.find(gpu, 0)->waiting_ns});
    };
    CHECK(of(0) == row_of({97, 22}));
    CHECK(of(1) == row_of({97, 2}));
    run.finish();
}

TEST_CASE("while a run is derived its sums stand before the views", "[basis]") {
    const TemporaryFolder folder;
    RunDb run(folder.path() / "run.db");
    add_rank(run, 0, 1);
    const auto say = [&](const std::string& sql) { Query(run.raw(), "run", sql).step(); };
    say("INSERT INTO gpu (gpu_id, rank_id, level, timed_share) VALUES (0, 0, 'events', 1)");
    say("INSERT INTO step (rank_id, step, dur_ns) VALUES (0, 0, 100)");
    say("INSERT INTO gpu_step (gpu_id, step, window_ns, busy_low_ns, busy_high_ns, busy_likely_low_ns,"
        " busy_likely_high_ns) VALUES (0, 0, 100, 50, 70, 58, 61)");
    say("INSERT INTO activity VALUES (0, 0, 0, 40), (0, 0, 1, 60)");
    say("INSERT INTO gap VALUES (0, 0, 'sync', '', 40, 1, 40, 0, 0)");
    const CountedSteps basis = run.derive();
    CHECK(basis.totals().size() == 1);
    const auto value = [&](const char* name) {
        Query query(run.raw(), "run", std::string("SELECT value FROM metric WHERE name = '") + name + "'");
        return query.step() ? query.real(0) : -1;
    };
    CHECK(value("busy_share") == Approx(0.6));
    CHECK(value("idle_sync_share") == Approx(0.4));
    {
        Query interval(
            run.raw(), "run",
            "SELECT low, high, likely_low, likely_high FROM metric_interval WHERE name = 'busy_share'");
        REQUIRE(interval.step());
        CHECK(interval.real(0) == Approx(0.5));
        CHECK(interval.real(1) == Approx(0.7));
        CHECK(interval.real(2) == Approx(0.58));
        CHECK(interval.real(3) == Approx(0.61));
    }
    // Rules ask them, too; and then they go.
    const auto text = [&](const std::string& sql) {
        Query query(run.raw(), "run", sql);
        return query.step() ? query.text(0) : "no row";
    };
    CHECK(text("SELECT group_concat(name, ' ') FROM (SELECT name FROM sqlite_temp_schema WHERE name IN"
               " (SELECT name FROM sqlite_schema) ORDER BY name)") ==
          "v_gpu_idle v_gpu_total v_run_steps v_step_length v_step_sum v_unknown_wait");
    run.finish();
}

}  // namespace counted_steps_test
