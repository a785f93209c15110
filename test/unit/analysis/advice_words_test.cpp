// What to try is said in words of what the program is written in, and in nobody else's.
#include <catch2/catch.hpp>

#include <set>

#include "analysis/advice/advise.h"
#include "run_rows.h"

namespace advice_words_test {

using namespace made;

namespace {

// Words that only people of one framework know.
constexpr std::string_view kTorch[] = {"torch", "DataLoader", "DDP", "FSDP", ".item()", "non_blocking"};
constexpr std::string_view kTensorflow[] = {"tf.", "TF_", "Keras", "tensorflow"};
constexpr std::string_view kJax[] = {"jax", "psum"};

template <size_t size>
bool has_any(std::string_view text, const std::string_view (&words)[size]) {
    for (const std::string_view word : words)
        if (text.find(word) != std::string_view::npos) return true;
    return false;
}

// Idle for launches, with a kernel of that library.
RunRows launching(const char* library) {
    RunRows run;
    run.rank(0).steps(0, {.ran = {{kCompute, 16 * kMs}}, .idle = {{"launch_bound", 4 * kMs}}});
    run.change(std::string("UPDATE rank SET executable = 'app'"));
    run.add("kernel", {{"gpu_id", 0}, {"name", "k"}, {"library", library}});
    return run;
}

std::string tried(const RunRows& run) { return run.look("launch_bound")->try_it; }

}  // namespace

TEST_CASE("every rule has advice for every program", "[advice]") {
    std::set<std::string_view> keys;
    for (const AdviceRow& row : advice_rows()) keys.insert(row.key);
    for (const Rule* rule : all_rules())
        if (std::string_view(rule->id) != "low_coverage")  // its texts are of its figures
            CHECK(std::any_of(keys.begin(), keys.end(), [&](std::string_view key) {
                return key.substr(0, key.find('.')) == rule->id;
            }));
    const Ecosystem programs[] = {
        {}, {.pytorch = true}, {.tensorflow = true}, {.jax = true}, {.python = true}};
    for (const std::string_view key : keys)
        for (const Ecosystem& program : programs) {
            INFO(key);
            CHECK(!advice_for(program, {key}).empty());
        }
}

TEST_CASE("no row has words of another framework", "[advice]") {
    for (const AdviceRow& row : advice_rows()) {
        INFO(row.text);
        if (row.who != Who::pytorch) CHECK(!has_any(row.text, kTorch));
        if (row.who != Who::tensorflow) CHECK(!has_any(row.text, kTensorflow));
        if (row.who != Who::jax) CHECK(!has_any(row.text, kJax));
    }
}

TEST_CASE("kernels' names tell the framework", "[advice]") {
    CHECK(has_any(tried(launching("pytorch")), kTorch));
    CHECK(!has_any(tried(launching("pytorch")), kTensorflow));
    CHECK(has_any(tried(launching("tensorflow")), kTensorflow));
    CHECK(!has_any(tried(launching("tensorflow")), kJax));
    // XLA compiles for both.
    CHECK(has_any(tried(launching("xla")), kTensorflow));
    CHECK(has_any(tried(launching("xla")), kJax));
    // A library that programs of all kinds use.
    const std::string native = tried(launching("cublas"));
    CHECK(!has_any(native, kTorch));
    CHECK(!has_any(native, kTensorflow));
    CHECK(!has_any(native, kJax));
    CHECK(native.find("cudaStreamBeginCapture") != std::string::npos);
}

TEST_CASE("on AMD's GPUs graphs and calls of the runtime are HIP's", "[advice]") {
    RunRows run = launching("cublas");
    run.change("UPDATE gpu SET name = 'AMD Instinct MI300X'");
    CHECK(tried(run).find("HIP graphs") != std::string::npos);
    CHECK(tried(run).find("hipStreamBeginCapture") != std::string::npos);
    const std::vector<Advice> advice = advise(Situation(run.raw()));
    CHECK(advice.at(0).finding.change == "HIP graphs or a compiler");
    for (const std::string_view key : {"launch_bound", "sync_every_step.launches", "pageable_copies"})
        for (const Ecosystem& program : {Ecosystem{.hip = true}, Ecosystem{.pytorch = true, .hip = true}}) {
            const std::string text = advice_for(program, {key});
            INFO(text);
            CHECK(text.find("CUDA graph") == std::string::npos);
            CHECK(text.find("cudaM") == std::string::npos);
        }
    // PyTorch calls the device cuda on either.
    CHECK(in_words_of({.hip = true}, "device='cuda', torch.cuda.Stream, 2 CUDA graphs, a CUDA graph") ==
          "device='cuda', torch.cuda.Stream, 2 HIP graphs, a HIP graph");
    CHECK(in_words_of({}, "a CUDA graph") == "a CUDA graph");
    const std::string keep = "PYTORCH_NO_CUDA_MEMORY_CACHING, PYTORCH_CUDA_ALLOC_CONF";
    CHECK(in_words_of({.hip = true}, keep) == "PYTORCH_NO_HIP_MEMORY_CACHING, PYTORCH_HIP_ALLOC_CONF");
    CHECK(in_words_of({.hip = true}, "set expandable_segments:True, or not") ==
          "set expandable_segments:True (from PyTorch 2.11 and ROCm 7 on), or not");
    CHECK(in_words_of({}, keep) == keep);
}

TEST_CASE("loaded libraries tell it, too", "[advice]") {
    RunRows run = launching("cublas");
    run.add("run", {{"key", "frameworks"}, {"value", "pytorch,python"}});
    CHECK(has_any(tried(run), kTorch));
    CHECK(tried(run).find("cudaStreamBeginCapture") == std::string::npos);
    RunRows jax = launching("xla");
    jax.add("run", {{"key", "frameworks"}, {"value", "jax"}});
    CHECK(has_any(tried(jax), kJax));
    CHECK(!has_any(tried(jax), kTensorflow));
}

TEST_CASE("Python is told by the interpreter", "[advice]") {
    RunRows run;
    run.rank(0).steps(0, {.ran = {{kCompute, 16 * kMs}}, .idle = {{"host_cpu", 4 * kMs}}});
    run.change("UPDATE rank SET executable = 'solver'");
    CHECK(run.look("step_gap")->try_it.find("gc.disable()") == std::string::npos);
    run.change("UPDATE rank SET executable = 'python3.11'");
    CHECK(run.look("step_gap")->try_it.find("gc.disable()") != std::string::npos);
}

TEST_CASE("nobody is told to look for a line that was seen", "[advice_words][rule]") {
    RunRows run;
    run.rank(0).steps(0, {.ran = {{kCompute, 16 * kMs}}, .idle = {{"host_cpu", 4 * kMs}}});
    run.change("UPDATE rank SET executable = 'python3.11'");
    const auto says_look = [&] { return run.look("step_gap")->try_it.find("py-spy") != std::string::npos; };
    CHECK(says_look());
    run.add("idle_python", {{"gpu_id", 0},
                            {"step", 1},
                            {"cause", "host_cpu"},
                            {"file", "/me/train.py"},
                            {"function", "saves"},
                            {"line", 46},
                            {"ns", 9 * kMs},
                            {"samples", 9}});
    CHECK_FALSE(says_look());
}

}  // namespace advice_words_test
