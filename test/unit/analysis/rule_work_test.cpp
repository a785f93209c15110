// Rules about what one GPU does: copies and kernels.
#include <catch2/catch.hpp>

#include "analysis/text/units.h"
#include "run_rows.h"

namespace rule_work_test {

using namespace made;

namespace {

constexpr int64_t kStepNs = 20 * kMs;
constexpr int64_t kSteps = RunRows::kSteps;

int64_t of_step(double share) { return static_cast<int64_t>(share * static_cast<double>(kStepNs)); }

RunRows busy_run(int64_t only_copies_ns = 0, int64_t staging_ns = 0) {
    RunRows run;
    run.rank(0).steps(0, {.ran = {{kCompute, kStepNs - only_copies_ns - staging_ns}, {kH2d, only_copies_ns}},
                          .idle = {{"copy_staging", staging_ns}}});
    return run;
}

struct Kernels {
    const char* name;
    const char* family;
    int64_t in_a_step, ns_in_a_step;
    const char* tensor_core = "unknown";
    const char* precision = "fp32";
    const char* alignment = "unknown";
};

RunRows& add(RunRows& run, const Kernels& is) {
    const bool is_product = std::string(is.family) == "gemm" || std::string(is.family) == "convolution";
    return run.add("kernel", {{"gpu_id", 0},
                              {"name", is.name},
                              {"launches", is.in_a_step * kSteps},
                              {"graph_launches", 0},
                              {"timed", is.in_a_step * kSteps},
                              {"sum_ns", is.ns_in_a_step * kSteps},
                              {"family", is.family},
                              {"precision", is.precision},
                              {"tensor_core", is.tensor_core},
                              {"alignment", is.alignment},
                              {"eligible", int64_t{is_product}}});
}

RunRows with(const Kernels& is) {
    RunRows run = busy_run();
    add(run, is);
    return run;
}

// Layouts are those of products; this one takes next to nothing.
RunRows converting(int64_t ns_in_a_step) {
    RunRows run = with({"nchwToNhwc", "layout_conversion", 4, ns_in_a_step});
    return std::move(add(run, {"hgemm", "gemm", 1, 10 * kUs, "yes", "fp16"}));
}

struct Copies {
    const char* kind = "h2d";
    const char* source = "pinned";
    int64_t bytes = 10'000'000, blocks_ns = 0, position = 0;
    int64_t timed = kSteps, steps = kSteps;
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

TEST_CASE("rules of kernels by name come on with their time", "[rule][rule_work]") {
    // At 0.75, 0.5, 1 and 0.7 of their time.
    CHECK(is_ramped("no_tensor_cores", [](double share) {
        return with({"sgemm", "gemm", 10, of_step(share / 0.75), "no"});
    }));
    CHECK(is_ramped("half_without_tensor_cores", [](double share) {
        return with({"volta_hgemm", "gemm", 10, of_step(share / 0.75), "no", "fp16"});
    }));
    CHECK(is_ramped("unaligned_shapes", [](double share) {
        return with({"gemm_align1", "gemm", 10, of_step(share / 0.5), "yes", "fp16", "unaligned"});
    }));
    CHECK(is_ramped("layout_conversions", [](double share) { return converting(of_step(share)); }));
    CHECK(is_ramped("small_kernels", [](double share) {
        return with({"add", "elementwise", 400, of_step(share / 0.7)});
    }));
}

TEST_CASE("where there are no products, transposing is the work itself", "[rule][rule_work]") {
    CHECK_FALSE(with({"transpose", "layout_conversion", 4, of_step(0.3)}).says("layout_conversions"));
    for (const char* const family : {"gemm", "convolution", "attention"}) {
        RunRows run = with({"transpose", "layout_conversion", 4, of_step(0.3)});
        CHECK(add(run, {"product", family, 1, 10 * kUs, "yes", "fp16"}).says("layout_conversions"));
    }
}

TEST_CASE("what no step has timed may take nothing", "[rule][rule_work]") {
    RunRows run = converting(of_step(0.3));
    const auto gain_ms = [&] {
        const Finding finding = run.look("layout_conversions").value();
        return std::pair(finding.gain.low_ns / kMs, finding.gain.high_ns / kMs);
    };
    const auto [low, high] = gain_ms();
    CHECK(low > 0);
    run.change("INSERT INTO step_work VALUES (0, 1.0, NULL)");
    run.change("UPDATE kernel SET in_steps = launches, timed_in_steps = 0, in_steps_ns = 0");
    CHECK(gain_ms() == std::pair(0.0, high));
    CHECK_THAT(run.look("layout_conversions")->title, Catch::Matchers::Contains(" take up to "));
    run.change(
        "UPDATE kernel SET in_steps = launches / 2, timed_in_steps = launches / 2, in_steps_ns = sum_ns / 2");
    CHECK(gain_ms().second == Approx(high / 2));
}

// Kernels that begin on an empty queue may have begun later than their times say.
TEST_CASE("what may be a wait in front of small kernels is no gain for sure", "[rule][rule_work]") {
    const auto finding = [](int64_t unsure_ns) {
        RunRows run = with({"add", "elementwise", 400, 10 * kMs});
        run.change("UPDATE kernel SET unsure_ns = " + std::to_string(unsure_ns * kSteps));
        return run.look("small_kernels").value();
    };
    const Finding sure = finding(kMs / 2), unsure = finding(6 * kMs);
    CHECK(sure.title.find("take 10.0 ms, 25.0 us each") != std::string::npos);
    CHECK(unsure.title.find("take 4.00 ms to 10.0 ms, 10.0 us to 25.0 us each") != std::string::npos);
    CHECK(unsure.gain.high_ns == sure.gain.high_ns);
    CHECK(unsure.gain.low_ns == Approx(sure.gain.low_ns * 4 / 9.5));
}

TEST_CASE("elementwise kernels that take long are not called small", "[rule][rule_work]") {
    CHECK(with({"add", "elementwise", 40, 3 * kMs}).look("small_kernels")->heading == nullptr);
    const Finding found = *with({"softmax", "softmax", 40, 12 * kMs}).look("small_kernels");
    REQUIRE(found.heading != nullptr);
    CHECK(std::string(found.heading->lead).find("small") == std::string::npos);
}

TEST_CASE("products of 16 bits are not told to go to 16 bits", "[rule][rule_work]") {
    CHECK(with({"volta_hgemm", "gemm", 10, 15 * kMs, "no", "fp16"}).said() == "half_without_tensor_cores");
    CHECK(with({"sgemm", "gemm", 10, 15 * kMs, "no", "fp32"}).said() == "no_tensor_cores");
    CHECK(with({"gemm", "gemm", 10, 15 * kMs, "no", "unknown"}).said() == "no_tensor_cores");
}

TEST_CASE("kernels that are as they should be are not named", "[rule][rule_work]") {
    CHECK(with({"hgemm", "gemm", 10, 15 * kMs, "yes", "fp16", "aligned"}).said() == "");
    CHECK(with({"gemm", "gemm", 10, 15 * kMs, "unknown"}).said() == "");  // its name does not tell
    CHECK(with({"add", "elementwise", 19, 900 * kUs}).said() == "");      // few
    RunRows compiled = with({"triton_poi_fused_add", "elementwise", 400, 15 * kMs});
    compiled.change("UPDATE kernel SET library = 'triton'");
    CHECK(compiled.said() == "");
}

//  step   |input|framework|python|          products without tensor cores          | 20 ms
TEST_CASE("what gains less than a third of the most comes behind, also where one GPU can do it",
          "[rule][rule_work]") {
    const auto said = [](int64_t input_ns, int64_t framework_ns, int64_t python_ns) {
        const int64_t compute_ns = kStepNs - input_ns - framework_ns - python_ns;
        RunRows run;
        run.rank(0).steps(
            0, {.ran = {{kCompute, compute_ns}},
                .idle = {{"input_cpu", input_ns}, {"framework", framework_ns}, {"python", python_ns}}});
        run.change("UPDATE gpu SET memory_peak_bytes = 13 << 30");     // no room for a larger batch
        return add(run, {"sgemm", "gemm", 10, 8 * kMs, "no"}).said();  // gains 2.4 to 6 ms
    };
    CHECK(said(2 * kMs, 4 * kMs, 3 * kMs) ==
          "input_bound framework_overhead python_overhead no_tensor_cores");
    CHECK(said(1 * kMs, 4 * kMs, 900 * kUs) ==
          "framework_overhead no_tensor_cores input_bound python_overhead");
}

TEST_CASE("tf32 is said, with less to gain", "[rule][rule_work]") {
    const Finding found = *with({"tf32gemm", "gemm", 10, 10 * kMs, "yes", "tf32"}).look("no_tensor_cores");
    CHECK(found.title.find("in tf32") != std::string::npos);
    CHECK(found.gain.low_ns == Approx(0.15 * 10 * kMs));
    CHECK(found.gain.high_ns == Approx(0.5 * 10 * kMs));
}

TEST_CASE("older GPUs are told to use what they have", "[rule][rule_work]") {
    const auto found = [](const std::string& gpu) {
        RunRows run = with({"sgemm", "gemm", 10, 10 * kMs, "no"});
        run.change("UPDATE gpu SET name = '" + gpu + "'");
        return run.look("no_tensor_cores");
    };
    CHECK(found("NVIDIA A100-SXM4-80GB")->try_it.find("TF32") != std::string::npos);
    CHECK(found("Tesla V100-SXM2-16GB")->try_it.find("none for bfloat16 and TF32") != std::string::npos);
    CHECK(found("Tesla V100-SXM2-16GB")->try_it.find("allow TF32") == std::string::npos);
    CHECK(!found("Tesla P100-PCIE-16GB"));
}

TEST_CASE("the variable that forbids tf32 is named where it is set", "[rule][rule_work]") {
    RunRows run = with({"sgemm", "gemm", 10, 10 * kMs, "no"});
    CHECK(run.look("no_tensor_cores")->try_it.find("NVIDIA_TF32_OVERRIDE") == std::string::npos);
    run.add("environment", {{"rank_id", 0}, {"name", "NVIDIA_TF32_OVERRIDE"}, {"value", "0"}});
    CHECK(run.look("no_tensor_cores")->try_it.find("NVIDIA_TF32_OVERRIDE=0 is set") == 0);
    run.change("UPDATE gpu SET name = 'Tesla T4'");  // it has none to allow
    CHECK(run.look("no_tensor_cores")->try_it.find("NVIDIA_TF32_OVERRIDE") == std::string::npos);
}

TEST_CASE("zeroing is a gain only where it takes long", "[rule][rule_work]") {
    RunRows little = with({"fill_kernel", "fill", 10, of_step(0.01)});
    CHECK(little.said() == "memset");
    CHECK(little.look("memset")->kind == Kind::kNoGain);
    CHECK(with({"fill_kernel", "fill", 10, of_step(0.1)}).look("memset")->kind == Kind::kGain);
    RunRows sets = busy_run();
    sets.add("memset_stat", {{"gpu_id", 0},
                             {"stream_id", 1},
                             {"count", kSteps},
                             {"timed", kSteps},
                             {"sum_ns", 100 * kUs * kSteps}});
    CHECK(sets.look("memset")->gain.high_ns == Approx(100 * kUs));
    CHECK_FALSE(busy_run().look("memset"));
}

TEST_CASE("pageable copies cost what pinned ones would not", "[rule][rule_work]") {
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

TEST_CASE("copies that are as fast as a slow link may gain little by pinned memory", "[rule][rule_work]") {
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

TEST_CASE("the batch on its way is worth a smaller type", "[rule][rule_work]") {
    const auto with_batch = [](int64_t alone_ns) {
        RunRows run = busy_run(alone_ns);
        add(run, Copies{.blocks_ns = alone_ns});
        return run;
    };
    CHECK(is_ramped("copy_volume", [&](double share) { return with_batch(of_step(share / 0.75)); }));
    CHECK(with_batch(2 * kMs).said() == "copy_volume");  // it recurs, but it is the batch
}

// Weights come from the host as batches do: without steps nothing tells them apart.
TEST_CASE("large copies of a run without steps are not said to be a batch", "[rule][rule_work]") {
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
          "[rule][rule_work]") {
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

TEST_CASE("copies besides the batch that recur are named", "[rule][rule_work]") {
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
    CHECK(is_ramped("repeated_copies", [&](double share) { return with_others(of_step(share), kSteps); }));
    CHECK(with_others(2 * kMs, kSteps).look("repeated_copies")->title.find("h2d 4.00 MB in 4") !=
          std::string::npos);
    CHECK_FALSE(with_others(2 * kMs, 5).says("repeated_copies"));
    // What a GPU copies, where a second one does nothing in steps.
    RunRows beside = with_others(2 * kMs, kSteps);
    beside.add("gpu", {{"gpu_id", 1}, {"rank_id", 0}, {"unused", 1}});
    CHECK(beside.look("repeated_copies")->title.find("h2d 4.00 MB in 4") != std::string::npos);
}

//  step   images labels ███ images labels ███ images labels ███        gradients are accumulated
TEST_CASE("parts of a batch are no constants that are sent again", "[rule][rule_work]") {
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
TEST_CASE("what is sent for each of many layers is no part of a batch", "[rule][rule_work]") {
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

TEST_CASE("copies within the GPU are no constants that are sent again", "[rule][rule_work]") {
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

TEST_CASE("bytes that go to the host and back are worth what they idle", "[rule][rule_work]") {
    const auto with_trips = [](double share) {
        RunRows run;
        run.rank(0).steps(
            0, {.ran = {{kCompute, kStepNs - of_step(share)}}, .idle = {{"sync", of_step(share)}}});
        if (share > 0)
            run.add("transfer_pattern", {{"gpu_id", 0},
                                         {"pattern", "round_trip"},
                                         {"count", kSteps},
                                         {"bytes", kSteps * 1'000'000},
                                         {"ns", of_step(share) * kSteps},
                                         {"steps", kSteps}});
        return run;
    };
    CHECK(is_ramped("round_trips", with_trips));
    RunRows held = with_trips(0.2);
    held.change("UPDATE transfer_pattern SET between_ns = " + std::to_string(of_step(0.1) * kSteps));
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
                                  {"count", kSteps},
                                  {"bytes", kSteps},
                                  {"ns", 5 * kMs * kSteps},
                                  {"steps", kSteps}});
    CHECK_FALSE(busy.says("round_trips"));
}

}  // namespace rule_work_test
