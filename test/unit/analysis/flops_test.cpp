// TFLOP/s, MFU and joules: figures that were worked out by hand, and what is said where a part is not known.
#include <catch2/catch.hpp>

#include <regex>

#include "analysis/run/ranks/peak_rows.h"
#include "bare_rank.h"
#include "made_run.h"

namespace flops_test {

using namespace made;
using Catch::Contains;

namespace {

struct Job {
    const char* gpu = "NVIDIA A100-SXM4-80GB";
    std::optional<int64_t> flops = 15'000'000'000, samples = 64, params = {}, tokens = {};
    int64_t ranks = 2, expected = 2;
    bool shared = false;                  // both processes use one GPU
    bool second_unused = false;           // the second one's is used before steps only
    double unknown_ns = 1e6;              // of matrix products whose names do not tell their precision
    const char* precision = "bf16";       // 9 ms of them
    std::optional<double> energy_j = {};  // of each GPU in 2 s
    double product_flops = 0;             // of products that are recorded, in each step of each GPU
    int64_t in_products = 3,
            in_graphs = 0;        // launches of the 9 ms: those of products; beside 3, those of graphs
    bool only_in_graphs = false;  // not these 3, and without device times
    std::optional<int64_t> matrix_kernels = 1;  // of a launch of such a graph
    const char* why_of_graph = nullptr;
};

// Two ranks, three steps of 10 ms: 100 steps a second.
class MadeJob {
  public:
    explicit MadeJob(const Job& job) {
        RunDb run(place());
        const auto fact = [&](const char* key, std::optional<int64_t> value) {
            if (value) run.add("run", {std::string(key), *value});
        };
        fact("samples_per_step", job.samples);
        fact("flops_per_sample", job.flops);
        fact("params", job.params);
        fact("tokens_per_sample", job.tokens);
        fact("ranks_expected", job.expected);
        for (int64_t rank = 0; rank < job.ranks; ++rank) add(run, rank, job);
        write_peaks(run);
        run.finish();
    }
    Database open() const { return Database(place()); }
    Report report(const ReportOptions& options = {}) const {
        const Database run = open();
        return write_report({run, nullptr, options});
    }
    // -1: it has none.
    double metric(const std::string& name) const {
        const Database run = open();
        Query row = run.prepare("SELECT value FROM metric WHERE scope = 'run' AND name = '" + name + "'");
        return row.step() && !row.is_null(0) ? row.real(0) : -1;
    }
    std::string why(const std::string& name) const {
        const Database run = open();
        Query row = run.prepare("SELECT why FROM metric WHERE scope = 'run' AND name = '" + name + "'");
        return row.step() ? row.text(0) : "no row";
    }

  private:
    std::filesystem::path place() const { return folder_.path() / "run.db"; }

    static void add_kernel(RunDb& run, int64_t gpu, const char* precision, double ns, bool eligible,
                           int64_t in_graphs = 0, bool only_in_graphs = false) {
        const int64_t alone = only_in_graphs ? 0 : 3;
        add_known(run.raw(), "kernel",
                  {{"gpu_id", gpu},
                   {"name", std::string(eligible ? "gemm_" : "add_") + precision},
                   {"family", std::string(eligible ? "gemm" : "elementwise")},
                   {"launches", alone},
                   {"graph_launches", in_graphs},
                   {"timed", alone},
                   {"sum_ns", only_in_graphs ? 0 : static_cast<int64_t>(ns)},
                   {"precision", std::string(precision)},
                   {"tensor_core", std::string("yes")},
                   {"eligible", int64_t{eligible}}});
    }

    static void add_products(RunDb& run, int64_t gpu, const Job& job) {
        for (int64_t step : {0, 1, 2})
            run.add("product_step", {gpu, step, int64_t{1}, job.product_flops * static_cast<double>(step)});
        run.add("kernel_in_product", {gpu, std::string("gemm_") + job.precision, job.in_products});
        if (job.in_graphs == 0) return;
        run.add("graph_product",
                {gpu, int64_t{1}, job.in_graphs, job.in_graphs, job.in_products, job.product_flops,
                 maybe(job.matrix_kernels),
                 job.why_of_graph != nullptr ? Value(std::string(job.why_of_graph)) : Value(nullptr)});
    }

    static void add(RunDb& run, int64_t rank, const Job& job) {
        add_rank(run, rank, job.expected);
        for (int64_t step : {0, 1, 2})
            run.add("step", {rank, step, step, step * 10'000'000, int64_t{10'000'000}, int64_t{1}, nullptr,
                             int64_t{0}, int64_t{0}, nullptr, int64_t{0}});
        add_known(run.raw(), "gpu",
                  {{"gpu_id", rank},
                   {"rank_id", rank},
                   {"device_id", 0},
                   {"name", std::string(job.gpu)},
                   {"simulated", 0},
                   {"unused", job.second_unused && rank == 1 ? Value(int64_t{1}) : Value(nullptr)}});
        add_known(run.raw(), "gpu_energy",
                  {{"gpu_id", rank},
                   {"energy_j", maybe(job.energy_j)},
                   {"span_ns", job.energy_j ? Value(int64_t{2'000'000'000}) : Value(nullptr)},
                   {"power_limit_w", job.energy_j ? Value(400.0) : Value(nullptr)},
                   {"why", job.energy_j ? Value(nullptr) : Value(std::string("no counter"))}});
        if (job.shared)
            add_known(run.raw(), "shared_gpu", {{"gpu_id", rank}, {"shared_id", 0}, {"processes", 2}});
        add_kernel(run, rank, job.precision, 9e6, true, job.in_graphs, job.only_in_graphs);
        if (job.product_flops > 0) add_products(run, rank, job);
        if (job.unknown_ns > 0) add_kernel(run, rank, "unknown", job.unknown_ns, true);
        add_kernel(run, rank, "fp32", 50e6, false);  // no matrix product: what it computes in says nothing
    }

    TemporaryFolder folder_;
};

double number(const Report& report, const std::string& key) {
    return std::stod(value(report, "flops." + key));
}

}  // namespace

// 64 samples a step, 100 steps a second, 15e9 a sample: 96e12 a second, 48e12 on each of two GPUs, of 312e12.
TEST_CASE("TFLOP/s and MFU of a job that was worked out by hand", "[flops]") {
    const MadeJob job({});
    CHECK(job.metric("tflops_per_gpu") == Approx(48));
    CHECK(job.metric("mfu") == Approx(48.0 / 312));
    const Report report = job.report();
    CHECK(number(report, "tflops_per_gpu") == Approx(48));
    CHECK(number(report, "mfu") == Approx(48.0 / 312));
    CHECK(number(report, "gpus") == 2);
    CHECK(value(report, "flops.precision") == "bf16");
    CHECK(number(report, "precision_share") == Approx(0.9));
    CHECK(unexplained(report) == "");
    CHECK_THAT(text_of(report),
               Contains("FLOPS      48 TFLOP/s per GPU, MFU 15.4 % of 312 (NVIDIA A100-SXM4-80GB, "
                        "dense bf16"));
    std::string unwrapped = text_of(report);
    unwrapped = std::regex_replace(unwrapped, std::regex("\\s+"), " ");
    CHECK_THAT(unwrapped, Contains("dense bf16: 90 % of the time of timed matrix products, by name);"
                                   " a sample takes --flops-per-sample"));
}

// 6 x 1e8 parameters x 25 tokens are 15e9, too.
TEST_CASE("parameters and tokens stand for operations; options win over the run's", "[flops]") {
    Job tokens;
    tokens.flops = {};
    tokens.params = 100'000'000;
    tokens.tokens = 25;
    CHECK(MadeJob(tokens).metric("tflops_per_gpu") == Approx(48));
    CHECK(number(MadeJob(tokens).report(), "mfu") == Approx(48.0 / 312));
    ReportOptions twice;
    twice.flops_per_sample = 30'000'000'000;
    CHECK(number(MadeJob(tokens).report(twice), "tflops_per_gpu") == Approx(96));
    ReportOptions more;  // over operations that the run was analysed with
    more.params = 100'000'000;
    more.tokens_per_sample = 50;
    CHECK(number(MadeJob({}).report(more), "tflops_per_gpu") == Approx(96));
    tokens.params = {};
    CHECK(MadeJob(tokens).metric("tflops_per_gpu") == -1);
    CHECK_THAT(text_of(MadeJob(tokens).report()), Contains("not known: --tokens-per-sample needs --params"));
}

TEST_CASE("nobody asked: no line, and JSON says why", "[flops]") {
    Job none;
    none.flops = {};
    const MadeJob job(none);
    CHECK_THAT(text_of(job.report()), !Contains("FLOPS "));
    CHECK(value(job.report(), "flops.mfu").empty());
    CHECK(unexplained(job.report()) == "");
    CHECK_THAT(job.why("mfu"), Contains("--flops-per-sample"));
    CHECK(job.why("mfu") == job.why("tflops_per_gpu"));
}

TEST_CASE("without a part of it there is no figure, and it is said which", "[flops]") {
    struct Case {
        Job job;
        const char* why;
        bool has_rate;
    };
    Case unknown_gpu{{}, "the peak of a GPU of this name is not known", true};
    unknown_gpu.job.gpu = "Unheard-of GPU";
    Case simulated{{}, "a simulated GPU has no peak", true};
    simulated.job.gpu = "Simulated GPU";
    Case no_such{{}, "the peak of this GPU in this precision is not known", true};
    no_such.job.precision = "fp8";
    Case silent{{}, "do not tell their precision", true};
    silent.job.unknown_ns = 10e6;
    Case missing{{}, "ranks are missing", false};
    missing.job.ranks = 1;
    Case no_samples{{}, "", false};
    no_samples.job.samples = {};
    for (const Case& one : {unknown_gpu, simulated, no_such, silent, missing, no_samples}) {
        const MadeJob job(one.job);
        INFO(one.why << " " << job.why("mfu"));
        CHECK(job.metric("mfu") == -1);
        CHECK_THAT(job.why("mfu"), Contains(one.why));
        CHECK((job.metric("tflops_per_gpu") > 0) == one.has_rate);
        const Report report = job.report();
        CHECK(value(report, "flops.mfu").empty());
        CHECK(value(report, "flops.tflops_per_gpu").empty() == !one.has_rate);
        CHECK(unexplained(report) == "");
        CHECK_THAT(text_of(report),
                   Contains(one.has_rate ? "48 TFLOP/s per GPU, MFU not known: " : "FLOPS      not known: "));
    }
}

TEST_CASE("processes that share a GPU have one between them", "[flops]") {
    Job shared;
    shared.shared = true;
    const MadeJob job(shared);
    CHECK(job.metric("tflops_per_gpu") == Approx(96));
    CHECK(number(job.report(), "gpus") == 1);
}

TEST_CASE("a GPU that is not used in steps is none of the job's", "[flops]") {
    Job one;
    one.second_unused = true;
    const MadeJob job(one);
    CHECK(job.metric("tflops_per_gpu") == Approx(96));
    CHECK(number(job.report(), "gpus") == 1);
}

TEST_CASE("more than a GPU can do is no contradiction of the run's: what was given is wrong", "[flops]") {
    Job far;
    far.flops = 150'000'000'000;
    const Report report = MadeJob(far).report();
    CHECK(number(report, "mfu") > 1);
    CHECK_THAT(text_of(report), Contains("check what a sample takes"));
    CHECK(asked(report, "SELECT json_array_length(?1, '$.contradictions')") == "0");
}

// 0, 120e9 and 240e9 operations in steps of 10 ms: 360e9 in 30 ms are 12e12 a second, of 312e12. The 9 ms of
// kernels that products launched are 94.7 % of 9.5 ms.
TEST_CASE("TFLOP/s and MFU of recorded products that were worked out by hand", "[flops]") {
    Job recorded;
    recorded.flops = {};
    recorded.unknown_ns = 0.5e6;
    recorded.product_flops = 120e9;
    const MadeJob job(recorded);
    CHECK(job.metric("product_tflops_per_gpu") == Approx(12));
    CHECK(job.metric("product_mfu") == Approx(12.0 / 312));
    const Report report = job.report();
    CHECK(number(report, "product_tflops_per_gpu") == Approx(12));
    CHECK(number(report, "product_mfu") == Approx(12.0 / 312));
    CHECK(number(report, "product_covered_share") == Approx(9.0 / 9.5));
    CHECK(value(report, "flops.mfu").empty());
    CHECK(unexplained(report) == "");
    const auto words = [](const Report& of) {
        return std::regex_replace(text_of(of), std::regex("\\s+"), " ");
    };
    CHECK_THAT(words(report), Contains(" FLOPS at least 12 TFLOP/s per GPU, MFU 3.8 % of 312 (NVIDIA"));
    CHECK_THAT(words(report),
               Contains("by recorded products of cuBLAS: 95 % of the time of matrix products and "
                        "convolutions; other kernels are not counted"));
    ReportOptions last;  // 240e9 in 10 ms
    last.from_step = 2;
    CHECK(number(job.report(last), "product_tflops_per_gpu") == Approx(24));
    ReportOptions told;  // both are said, the peak once
    told.flops_per_sample = 15'000'000'000;
    CHECK_THAT(words(job.report(told)),
               Contains("a sample takes --flops-per-sample at least 12 TFLOP/s per GPU, MFU 3.8 %, by"));
    recorded.shared = true;  // two processes on one GPU
    CHECK(MadeJob(recorded).metric("product_tflops_per_gpu") == Approx(24));
    CHECK(number(MadeJob(recorded).report(last), "product_tflops_per_gpu") == Approx(48));
}

TEST_CASE("recorded products of a part of the work are no figure, and it is said why", "[flops]") {
    struct Case {
        const char* why;
        Job job;
        bool has_rate = false;
    };
    Case none{"no product of cuBLAS or cuBLASLt is recorded", {}};
    Case others{"too few of the matrix products", {}};
    others.job.unknown_ns = 2e6;
    Case once{"too few of the matrix products", {}};  // of three launches
    once.job.in_products = 1;
    Case captured{"too few of the matrix products", {}};
    captured.job.in_graphs = 3;
    Case unknown_gpu{"a simulated GPU has no peak", {}, true};
    unknown_gpu.job.gpu = "Simulated GPU";
    Case too_much{"more than the peak", {}, true};
    for (Case* one : {&none, &others, &once, &captured, &unknown_gpu, &too_much}) {
        Job& job = one->job;
        job.flops = {};
        if (one != &others) job.unknown_ns = 0;
        if (one != &none) job.product_flops = one == &too_much ? 12e12 : 120e9;
        const MadeJob made(job);
        INFO(one->why << " " << made.why("product_mfu"));
        CHECK(made.metric("product_mfu") == -1);
        CHECK_THAT(made.why("product_mfu"), Contains(one->why));
        CHECK((made.metric("product_tflops_per_gpu") > 0) == one->has_rate);
        const Report report = made.report();
        CHECK(value(report, "flops.product_mfu").empty());
        CHECK(value(report, "flops.product_tflops_per_gpu").empty() == !one->has_rate);
        CHECK(unexplained(report) == "");
        CHECK((text_of(report).find("FLOPS ") != std::string::npos) == one->has_rate);
    }
}

//  bf16    3 launches of 3 ms and 300 in graphs      unknown  3 launches of 6.7 ms and none in graphs
TEST_CASE("a peak is of the precision of most work, not of most of what was timed", "[flops]") {
    Job warm;
    warm.in_graphs = 300;
    warm.in_products = 303;
    warm.unknown_ns = 20e6;
    CHECK(number(MadeJob(warm).report(), "precision_share") == Approx(909.0 / 929));
}

// As above, 360e9 in 30 ms, by products that were captured: two launches of a graph in each step.
TEST_CASE("products in graphs: without device times all of them have to be recorded ones", "[flops]") {
    Job graphs;
    graphs.flops = {};
    graphs.unknown_ns = 0;
    graphs.product_flops = 120e9;
    graphs.only_in_graphs = true;
    graphs.in_graphs = graphs.in_products = 6;
    const MadeJob job(graphs);
    CHECK(job.metric("product_tflops_per_gpu") == Approx(12));
    CHECK(job.metric("product_mfu") == Approx(12.0 / 312));
    const Report report = job.report();
    CHECK(number(report, "product_covered_share") == Approx(1));
    CHECK(value(report, "flops.precision_share").empty());
    CHECK(unexplained(report) == "");
    CHECK_THAT(std::regex_replace(text_of(report), std::regex("\\s+"), " "),
               Contains("dense bf16: all matrix products, of which none has device times, by name)"));

    Job others = graphs, unknown = graphs, changed = graphs, two = graphs;
    others.in_products = 5;
    unknown.matrix_kernels = {};
    changed.in_products = 0;
    changed.why_of_graph = "nodes were changed";
    two.unknown_ns = 4e6;  // these have device times: nobody knows what share of all they are
    for (const auto& [one, why] :
         {std::pair(others, "no device times to weigh them by"),
          std::pair(unknown, "it is not recorded what a launched graph runs"),
          std::pair(changed, "nodes were changed"), std::pair(two, "no device times to weigh them by")}) {
        const MadeJob made(one);
        INFO(why);
        CHECK(made.metric("product_tflops_per_gpu") == -1);
        CHECK_THAT(made.why("product_mfu"), Contains(why));
        CHECK(unexplained(made.report()) == "");
        const bool is_judged = one.in_products == 0;  // none of them
        CHECK(value(made.report(), "flops.product_covered_share").empty() != is_judged);
    }
}

// 600 J in 2 s are 300 W: 3 J in a step of 10 ms, on each of two GPUs; of 64 samples.
TEST_CASE("joules of a step and of a sample that were worked out by hand", "[energy]") {
    Job drawn;
    drawn.energy_j = 600;
    const MadeJob job(drawn);
    CHECK(job.metric("joules_per_sample") == Approx(6.0 / 64));
    const Database base = job.open();
    Query rows =
        base.prepare("SELECT min(value), max(value), count(*) FROM metric WHERE name = 'joules_per_step'");
    REQUIRE(rows.step());
    CHECK(rows.real(0) == Approx(3));
    CHECK(rows.real(1) == Approx(3));
    CHECK(rows.number(2) == 2);
    const Report report = job.report();
    CHECK(std::stod(value(report, "energy.joules_per_sample")) == Approx(6.0 / 64));
    CHECK(std::stod(value(report, "energy.gpus[1].joules_per_step")) == Approx(3));
    CHECK(std::stod(value(report, "energy.gpus[1].power_w")) == Approx(300));
    CHECK_THAT(text_of(report),
               Contains("ENERGY     3 J a step on each GPU (mean of 2), 0.0938 J a sample; 300 W of at "
                        "most 400 W"));
    drawn.shared = true;  // the board is one: what it drew counts once
    CHECK(MadeJob(drawn).metric("joules_per_sample") == Approx(3.0 / 64));
    drawn.samples = {};
    CHECK(MadeJob(drawn).metric("joules_per_sample") == -1);
    CHECK(value(MadeJob(drawn).report(), "energy.joules_per_sample").empty());
}

TEST_CASE("no counter: no energy, no line, and JSON says why", "[energy]") {
    const MadeJob job({});
    CHECK(job.metric("joules_per_sample") == -1);
    CHECK(job.why("joules_per_sample") == "no counter");
    const Report report = job.report();
    CHECK_THAT(text_of(report), !Contains("ENERGY "));
    CHECK(value(report, "energy.why") == "no counter");
    CHECK(unexplained(report) == "");
    ReportOptions all;
    all.all = true;
    CHECK_THAT(text_of(job.report(all)), Contains("ENERGY     no counter"));
}

}  // namespace flops_test
