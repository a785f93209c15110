// The truth of whole programs: the same twice in stepped time, varied where a knob says so.
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <numeric>

#include "core.h"

namespace truth_test {

namespace {

std::string path_of(pid_t pid) { return "/tmp/gpusim-case-" + std::to_string(pid) + ".truth"; }

// A bit of everything that takes time.
void program() {
    CUcontext context = nullptr;
    CUmodule module = nullptr;
    CUfunction a = nullptr, b = nullptr;
    CUstream s = nullptr, t = nullptr;
    CUevent event = nullptr;
    cuInit(0);
    cuCtxCreate_v2(&context, 0, 0);
    cuModuleLoadData(&module, kAnyImage);
    cuModuleGetFunction(&a, module, "a__10us");
    cuModuleGetFunction(&b, module, "b__25us");
    cuStreamCreate(&s, CU_STREAM_NON_BLOCKING);
    cuStreamCreate(&t, CU_STREAM_DEFAULT);
    cuEventCreate(&event, 0);
    const auto host_work = [](void*) { gpusim_advance_ns(3'000); };
    for (int i = 0; i < 50; ++i) {
        launch(a, s);
        cuEventRecord(event, s);
        cuStreamWaitEvent(t, event, 0);
        launch(b, t);
        if (i % 10 == 0) cuLaunchHostFunc(t, host_work, nullptr);
        gpusim_advance_ns(7'000);
        if (i % 5 == 0) cuStreamSynchronize(t);
        if (i % 7 == 0) cuStreamQuery(s);
        launch(b, nullptr);
    }
    cuCtxSynchronize();
}

// The truth of `program`, run by a process of its own.
std::string truth_of_program() {
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        program();
        _exit(0);
    }
    REQUIRE(waitpid(child, nullptr, 0) == child);
    std::ifstream file(path_of(child));
    std::string text(std::istreambuf_iterator<char>(file), {});
    unlink(path_of(child).c_str());
    unlink((path_of(child) + ".counts").c_str());
    return text;
}

std::vector<double> durations(const Timeline& timeline) {
    std::vector<double> result;
    for (const Truth& t : timeline.all()) result.push_back(static_cast<double>(t.end_ns - t.start_ns));
    return result;
}

double mean(const std::vector<double>& values) {
    return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

}  // namespace

TEST_CASE("in stepped time a program has the same truth twice, to the byte", "[truth]") {
    box::knobs("GPUSIM_CLOCK=stepped GPUSIM_JITTER=0.1 GPUSIM_SEED=5 GPUSIM_TRUTH=/tmp/gpusim-case-%p.truth");
    const std::string first = truth_of_program();
    CHECK(first.size() > 1000);
    CHECK(first == truth_of_program());
    CHECK(first == truth_of_program());
}

TEST_CASE("durations vary around what they are, and slowly", "[truth]") {
    Timeline timeline("GPUSIM_JITTER=0.05 GPUSIM_SEED=3");
    make_context();
    CUfunction f = kernel("f__10us");
    for (int i = 0; i < 4000; ++i) CU(launch(f));
    CU(cuCtxSynchronize());
    std::vector<double> ns = durations(timeline);
    const double average = mean(ns);
    CHECK(average == Approx(10'000).epsilon(0.03));
    double variance = 0, with_next = 0;
    for (size_t i = 0; i + 1 < ns.size(); ++i) {
        variance += (ns[i] - average) * (ns[i] - average);
        with_next += (ns[i] - average) * (ns[i + 1] - average);
    }
    CHECK(std::sqrt(variance / static_cast<double>(ns.size())) == Approx(500).epsilon(0.3));
    CHECK(with_next / variance == Approx(0.9).margin(0.05));
}

TEST_CASE("a slow rank's kernels take longer", "[truth]") {
    Timeline timeline("GPUSIM_DEVICES=2 GPUSIM_SLOW=1:3");
    make_context(0);
    CU(launch(kernel("quick__10us")));
    make_context(1);
    CU(launch(kernel("slow__10us")));
    CHECK(timeline.named("quick__10us").end_ns - timeline.named("quick__10us").start_ns == 10'000);
    CHECK(timeline.named("slow__10us").end_ns - timeline.named("slow__10us").start_ns == 30'000);
}

}  // namespace truth_test
