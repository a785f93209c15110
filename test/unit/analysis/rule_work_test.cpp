// Rules about the kernels of one GPU.
#include <catch2/catch.hpp>

#include "work_run.h"

namespace rule_work_test {

using namespace made;

namespace {

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
                              {"launches", is.in_a_step * RunRows::kSteps},
                              {"graph_launches", 0},
                              {"timed", is.in_a_step * RunRows::kSteps},
                              {"sum_ns", is.ns_in_a_step * RunRows::kSteps},
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
        run.change("UPDATE kernel SET unsure_ns = " + std::to_string(unsure_ns * RunRows::kSteps));
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
        const int64_t compute_ns = kWorkStepNs - input_ns - framework_ns - python_ns;
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
                             {"count", RunRows::kSteps},
                             {"timed", RunRows::kSteps},
                             {"sum_ns", 100 * kUs * RunRows::kSteps}});
    CHECK(sets.look("memset")->gain.high_ns == Approx(100 * kUs));
    CHECK_FALSE(busy_run().look("memset"));
}

}  // namespace rule_work_test
