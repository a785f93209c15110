// Rules about the copies of one GPU.
#include <catch2/catch.hpp>

#include "analysis/text/units.h"
#include "work_run.h"

namespace rule_copies_test {

using namespace made;

namespace {

struct Copies {
    const char* kind = "h2d";
    const char* source = "pinned";
    int64_t bytes = 10'000'000, blocks_ns = 0, position = 0;
    int64_t timed = RunRows::kSteps, steps = RunRows::kSteps;
};

RunRows& add(RunRows& run, const Copies& is) {
    return run.add("copy_stat", {{"gpu_id", 0},
                                 {"stream_id", 1},
                                 {"kind", is.kind},
                                 {"source", is.source},
                                 {"target", "device"},
                                 {"blocking", 0},
                                 {"position", is.position},
                                 {"bytes_each", 16'777'216},
                                 {"count", is.steps},
                                 {"bytes", is.bytes * is.steps},
                                 {"steps", is.steps},
                                 {"timed", is.timed},
                                 {"sum_ns", is.blocks_ns * is.timed},
                                 {"timed_bytes", is.bytes * is.timed},
                                 {"blocks_kernels_ns", is.blocks_ns * is.timed},
                                 {"best_bytes_per_s", 25e9},
                                 {"max_bytes", is.bytes}});
}

}  // namespace

TEST_CASE("pageable copies cost what pinned ones would not", "[rule][rule_copies]") {
    const auto with_staging = [](int64_t staging_ns) {
        RunRows run = busy_run(0, staging_ns);
        add(run, Copies{.source = "pageable", .bytes = 10'000'000, .timed = 0});
        return run;
    };
    // Nothing pinned was seen: three quarters at most.
    CHECK(is_ramped("pageable_copies", [&](double share) { return with_staging(of_step(share / 0.75)); }));
    RunRows seen = with_staging(2 * kMs);
    add(seen, Copies{.bytes = 5'000'000, .blocks_ns = 0, .position = -1});
    // 10 MB at 25 GB/s are 0.4 ms.
    CHECK(seen.look("pageable_copies")->gain.high_ns == Approx(1.6 * kMs));
    RunRows pinned = busy_run(2 * kMs);
    add(pinned, Copies{.blocks_ns = 2 * kMs});
    CHECK_FALSE(pinned.look("pageable_copies"));
}

TEST_CASE("copies that are as fast as a slow link may gain little by pinned memory", "[rule][rule_copies]") {
    const auto share_low = [](double bytes_per_ns) {
        RunRows run = busy_run(2 * kMs);
        add(run, Copies{.source = "pageable",
                        .bytes = static_cast<int64_t>(2e6 * bytes_per_ns),
                        .blocks_ns = 2 * kMs});
        const Gain gain = run.look("pageable_copies")->gain;
        CHECK(gain.high_ns == Approx(1.5 * kMs));
        return gain.low_ns / (2 * kMs);
    };
    CHECK(share_low(4) == Approx(0.5));
    CHECK(share_low(11.5) == Approx(0.08));  // 11.5 of 12.5 GB/s
    CHECK(share_low(15) == 0);
}

TEST_CASE("the batch on its way is worth a smaller type", "[rule][rule_copies]") {
    const auto with_batch = [](int64_t alone_ns) {
        RunRows run = busy_run(alone_ns);
        add(run, Copies{.blocks_ns = alone_ns});
        return run;
    };
    CHECK(is_ramped("copy_volume", [&](double share) { return with_batch(of_step(share / 0.75)); }));
    CHECK(with_batch(2 * kMs).said() == "copy_volume");  // it recurs, but it is the batch
}

// Weights come from the host as batches do: without steps nothing tells them apart.
TEST_CASE("large copies of a run without steps are not said to be a batch", "[rule][rule_copies]") {
    RunRows run;
    run.rank(0, "none").steps(0, {.ran = {{kCompute, 4 * kMs}, {kH2d, 16 * kMs}}}, 100);
    add(run, Copies{.blocks_ns = 16 * kMs, .timed = 100, .steps = 100});
    const Finding found = run.look("copy_volume").value();
    REQUIRE(found.heading != nullptr);
    CHECK(std::string(found.heading->lead).find("batch") == std::string::npos);
    RunRows stepped = busy_run(2 * kMs);
    add(stepped, Copies{.blocks_ns = 2 * kMs});
    CHECK(stepped.look("copy_volume").value().heading == nullptr);
}

// In half a second two copies there and back, and 20 us of kernels.
TEST_CASE("without steps copies of pageable memory count where they fill half of the time",
          "[rule][rule_copies]") {
    const auto found = [](int64_t each_ms, const char* source, const char* target) {
        RunRows run;
        run.rank(0, "none").steps(
            0,
            {.ran = {{kCompute, 20 * kMs - 2 * each_ms * kMs}, {kH2d, each_ms * kMs}, {kD2h, each_ms * kMs}}},
            50);
        add(run,
            Copies{.source = source, .blocks_ns = each_ms * kMs, .position = -1, .timed = 50, .steps = 50});
        add(run, Copies{.kind = "d2h",
                        .source = "device",
                        .blocks_ns = each_ms * kMs,
                        .position = -1,
                        .timed = 50,
                        .steps = 50});
        run.change(std::string("UPDATE copy_stat SET target = '") + target + "' WHERE kind = 'd2h'");
        return run.look("pageable_copies");
    };
    const auto both = found(6, "pageable", "pageable");
    REQUIRE(both);
    CHECK(both->heading != nullptr);
    CHECK(both->title.find("from and to pageable memory") != std::string::npos);
    CHECK(!found(4, "pageable", "pageable"));  // 0.4 of the time
    CHECK(!found(6, "pageable", "pinned"));
    CHECK(!found(6, "pinned", "pageable"));
}

TEST_CASE("copies besides the batch that recur are named", "[rule][rule_copies]") {
    const auto with_others = [](int64_t alone_ns, int64_t steps) {
        RunRows run = busy_run(alone_ns);
        add(run, Copies{.blocks_ns = 0});
        for (int64_t position = 1; position <= 4; ++position)
            add(run, Copies{.bytes = 1'000'000,
                            .blocks_ns = alone_ns / 4,
                            .position = position,
                            .timed = steps,
                            .steps = steps});
        return run;
    };
    CHECK(is_ramped("repeated_copies",
                    [&](double share) { return with_others(of_step(share), RunRows::kSteps); }));
    CHECK(with_others(2 * kMs, RunRows::kSteps).look("repeated_copies")->title.find("h2d 4.00 MB in 4") !=
          std::string::npos);
    CHECK_FALSE(with_others(2 * kMs, 5).says("repeated_copies"));
    // What a GPU copies, where a second one does nothing in steps.
    RunRows beside = with_others(2 * kMs, RunRows::kSteps);
    beside.add("gpu", {{"gpu_id", 1}, {"rank_id", 0}, {"unused", 1}});
    CHECK(beside.look("repeated_copies")->title.find("h2d 4.00 MB in 4") != std::string::npos);
}

//  step   batch ███ gradients▲  weights▼       as much comes back as goes out
TEST_CASE("what goes out as it came back is not called the batch", "[rule][rule_copies]") {
    const auto with_weights = [](int64_t back_bytes) {
        RunRows run = busy_run(4 * kMs);
        add(run, Copies{.bytes = 1'000'000, .blocks_ns = kMs / 2});
        add(run, Copies{.bytes = 40'000'000, .blocks_ns = 2 * kMs, .position = 1});
        add(run, Copies{.kind = "d2h", .bytes = back_bytes, .blocks_ns = kMs, .position = 2});
        return run;
    };
    const Finding both = with_weights(40'000'000).look("repeated_copies").value();
    CHECK(both.title.find("besides the largest one to the device") != std::string::npos);
    REQUIRE(both.heading != nullptr);
    CHECK(std::string(both.heading->lead).find("batch") == std::string::npos);
    const Finding sent = with_weights(40'000'000).look("copy_volume").value();
    REQUIRE(sent.heading != nullptr);
    CHECK(std::string(sent.heading->title) == "Large copies to the device");
    CHECK(with_weights(900'000).look("copy_volume")->heading == nullptr);
    CHECK(with_weights(900'000).look("repeated_copies")->title.find("besides the batch") !=
          std::string::npos);
}

//  step   images labels ███ images labels ███ images labels ███        gradients are accumulated
TEST_CASE("parts of a batch are no constants that are sent again", "[rule][rule_copies]") {
    const auto in_parts = [](int64_t parts_behind_kernels, int64_t label_bytes = 1'000'000) {
        RunRows run = busy_run(2 * kMs);
        for (int64_t position = 0; position < 6; ++position)
            add(run, Copies{.bytes = position % 2 == 0 ? 16'000'000 : label_bytes,
                            .blocks_ns = kMs / 3,
                            .position = position});
        run.change("UPDATE copy_stat SET bytes_each = max_bytes, behind_kernels = CASE WHEN position / 2 < " +
                   std::to_string(parts_behind_kernels) + " THEN count ELSE 0 END");
        return run;
    };
    CHECK(in_parts(3).said() == "copy_volume");
    CHECK(in_parts(1).says("repeated_copies"));  // all of them before the kernels
    RunRows constants = in_parts(3, 8'000'000);  // these once, before all
    constants.change("UPDATE copy_stat SET behind_kernels = 0 WHERE position IN (3, 5)");
    CHECK(constants.look("repeated_copies")->title.find("h2d 24.0 MB in 3") != std::string::npos);
}

//  step   ids mask ███ mask ███ mask ███ …      a mask that each of twelve layers sends
TEST_CASE("what is sent for each of many layers is no part of a batch", "[rule][rule_copies]") {
    const auto sent = [](int64_t times) {
        RunRows run = busy_run(2 * kMs);
        add(run, Copies{.bytes = 64'000, .blocks_ns = 0});
        for (int64_t position = 1; position <= times; ++position)
            add(run, Copies{.bytes = 4'000'000, .blocks_ns = kMs / 8, .position = position});
        run.change(
            "UPDATE copy_stat SET bytes_each = max_bytes, behind_kernels = CASE WHEN position > 0 THEN"
            " count ELSE 0 END");
        return run;
    };
    CHECK(sent(12).says("repeated_copies"));
    CHECK_FALSE(sent(4).says("repeated_copies"));
}

TEST_CASE("copies within the GPU are no constants that are sent again", "[rule][rule_copies]") {
    // Of 2 ms in which copies run alone so much is within the GPU.
    const auto found = [](double within) {
        RunRows run = busy_run(2 * kMs);
        add(run, Copies{.blocks_ns = 0});
        const auto within_ns = static_cast<int64_t>(within * 2e6);
        add(run, Copies{.kind = "d2d", .blocks_ns = within_ns, .position = 1});
        add(run, Copies{.bytes = 1'000'000, .blocks_ns = 2 * kMs - within_ns, .position = 2});
        return run.look("repeated_copies").value();
    };
    const Finding within = found(0.6);
    REQUIRE(within.heading != nullptr);
    CHECK(std::string(within.heading->lead) == "the GPU copies within its own memory");
    CHECK(within.try_it.find("constants") == std::string::npos);
    CHECK(found(0.4).heading == nullptr);
    CHECK(found(0.4).try_it.find("constants") != std::string::npos);
    CHECK(found(0.4).gain.high_ns == within.gain.high_ns);
}

TEST_CASE("bytes that go to the host and back are worth what they idle", "[rule][rule_copies]") {
    const auto with_trips = [](double share) {
        RunRows run;
        run.rank(0).steps(
            0, {.ran = {{kCompute, kWorkStepNs - of_step(share)}}, .idle = {{"sync", of_step(share)}}});
        if (share > 0)
            run.add("transfer_pattern", {{"gpu_id", 0},
                                         {"pattern", "round_trip"},
                                         {"count", RunRows::kSteps},
                                         {"bytes", RunRows::kSteps * 1'000'000},
                                         {"ns", of_step(share) * RunRows::kSteps},
                                         {"steps", RunRows::kSteps}});
        return run;
    };
    CHECK(is_ramped("round_trips", with_trips));
    RunRows held = with_trips(0.2);
    held.change("UPDATE transfer_pattern SET between_ns = " + std::to_string(of_step(0.1) * RunRows::kSteps));
    const auto found = held.look("round_trips");
    REQUIRE(found);
    CHECK(found->title.find("; the host has them for " +
                            gpushim::analysis::duration_text(static_cast<double>(of_step(0.1))) +
                            " of a step (10 %)") != std::string::npos);
    CHECK(with_trips(0.2).look("round_trips")->title.find("the host has them") == std::string::npos);
    // Spans of five steps each, in every one of which the calls take a fifth.
    RunRows spans = with_trips(0.2);
    spans.change(
        "INSERT INTO unlike_steps VALUES (0); UPDATE step SET dur_ns = dur_ns / 5;"
        " UPDATE transfer_pattern SET ns = ns / 5");
    CHECK(spans.look("round_trips")->gain.high_ns == Approx(static_cast<double>(of_step(0.2)) / 5));
    RunRows busy = busy_run();  // the calls take long, and the GPU is never idle
    busy.add("transfer_pattern", {{"gpu_id", 0},
                                  {"pattern", "round_trip"},
                                  {"count", RunRows::kSteps},
                                  {"bytes", RunRows::kSteps},
                                  {"ns", 5 * kMs * RunRows::kSteps},
                                  {"steps", RunRows::kSteps}});
    CHECK_FALSE(busy.says("round_trips"));
}

}  // namespace rule_copies_test
