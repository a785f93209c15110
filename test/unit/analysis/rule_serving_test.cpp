// Rules about programs that serve a language model: why the GPU is idle in an iteration.
#include <catch2/catch.hpp>

#include "run_rows.h"

namespace rule_serving_test {

using namespace made;

namespace {

constexpr int64_t kStepNs = 20 * kMs;

int64_t of_step(double share) { return static_cast<int64_t>(share * static_cast<double>(kStepNs)); }

struct Kinds {
    int64_t with_graph = 10;    // of each ten decodes
    int64_t prefill_every = 0;  // 0: none
};

// One rank that serves, iterations of 20 ms, idle for so much by that cause.
RunRows server(const char* cause, int64_t ns, Kinds kinds = {.with_graph = 10}) {
    RunRows run;
    run.rank(0).steps(0, {.ran = {{kCompute, kStepNs - ns}}, .idle = {{cause, ns}}});
    run.change("UPDATE gpu SET memory_peak_bytes = 13 << 30");
    run.add("program", {{"rank_id", 0}, {"kind", "serving"}, {"confidence", 0.95}, {"why", "told"}});
    for (int64_t step = 0; step < RunRows::kSteps; ++step) {
        const bool is_prefill = kinds.prefill_every > 0 && step % kinds.prefill_every == 0;
        run.add("iteration", {{"rank_id", 0},
                              {"step", step},
                              {"kind", is_prefill ? "prefill" : "decode"},
                              {"class", 0},
                              {"graphs", int64_t{!is_prefill && step % 10 < kinds.with_graph}},
                              {"launches", 50}});
    }
    return run;
}

RunRows idle_share(const char* cause, double share) { return server(cause, of_step(share)); }

// 16 GiB in 40 copies.
void add_copies(RunRows& run, const char* kind, const char* source, int64_t steps,
                std::optional<int64_t> blocks_ns = {}) {
    run.add("copy_stat", {{"gpu_id", 0},
                          {"stream_id", 7},
                          {"kind", kind},
                          {"source", source},
                          {"target", "device"},
                          {"blocking", 0},
                          {"position", 0},
                          {"bytes_each", 30},
                          {"count", 40},
                          {"bytes", int64_t{1} << 34},
                          {"steps", steps},
                          {"blocks_kernels_ns", maybe(blocks_ns)}});
}

}  // namespace

TEST_CASE("a server's idle time has causes of its own", "[rule][rule_serving]") {
    CHECK(is_ramped("between_iterations", [](double share) { return idle_share("host_cpu", share); }));
    CHECK(is_ramped("between_iterations", [](double share) { return idle_share("input_wait", share); }));
    CHECK(is_ramped("token_read_back", [](double share) { return idle_share("sync", share); }));
    CHECK_FALSE(idle_share("sync_other_gpu", 0.3).says("token_read_back"));  // its turn has not come
    CHECK(is_ramped("decode_without_graphs",
                    [](double share) { return server("launch_bound", of_step(share), {.with_graph = 0}); }));
}

TEST_CASE("a server that reads back many times in an iteration is told so", "[rule][rule_serving]") {
    const auto reading = [](int64_t times) {
        RunRows run = idle_share("host_cpu", 0.2);
        run.add("transfer_pattern",
                {{"gpu_id", 0}, {"pattern", "small_d2h_sync"}, {"count", times * RunRows::kSteps}});
        return run.look("between_iterations").value();
    };
    CHECK(reading(6).title.find("; it reads back 6 times in an iteration") != std::string::npos);
    CHECK(reading(6).try_it.find("Choose beams") != std::string::npos);
    CHECK(reading(2).title.find("reads back") == std::string::npos);
    CHECK(reading(2).try_it.find("Choose beams") == std::string::npos);
}

// Graphs are captured for sizes to come: kernels write the model's cache, and the host waits for work from
// before.
TEST_CASE("where nothing comes back from the GPU no token is read", "[rule][rule_serving]") {
    RunRows run = server("sync", of_step(0.5), {.with_graph = 0});
    CHECK(run.says("token_read_back"));  // decodes make tokens, however the host gets them
    run.change("UPDATE iteration SET kind = 'other'");
    run.add("copy_stat", {{"gpu_id", 0}, {"kind", "h2d"}, {"count", RunRows::kSteps}});
    CHECK_FALSE(run.says("token_read_back"));
    run.change("UPDATE copy_stat SET kind = 'd2h'");
    CHECK(run.says("token_read_back"));
    run.change("DELETE FROM copy_stat");
    CHECK_FALSE(run.says("token_read_back"));
    run.change("UPDATE iteration SET graphs = 1");  // which may copy
    CHECK(run.says("token_read_back"));
}

TEST_CASE("what the host does where code is loaded is compiling", "[rule][rule_serving]") {
    RunRows run = idle_share("host_cpu", 0.3);
    run.change("UPDATE step SET has_load = 1");
    run.add(
        "load_stat",
        {{"rank_id", 0}, {"loads", 20}, {"load_ns", kMs}, {"after_warm_up", 20}, {"after_warm_up_ns", kMs}});
    CHECK(run.said() == "recompilation");
}

TEST_CASE("rules of training loops ask nothing of a server", "[rule][rule_serving]") {
    CHECK(idle_share("input_wait", 0.3).said() == "between_iterations");
    CHECK(idle_share("host_cpu", 0.3).said() == "between_iterations");
    RunRows trains = idle_share("input_wait", 0.3);
    trains.change("UPDATE program SET kind = 'training'");
    CHECK(trains.said() == "input_bound");
}

TEST_CASE("a slow host is no scheduler where the iteration loads code", "[rule][rule_serving]") {
    // One iteration in ten is a prompt of a new length, for which the host works 40 ms.
    RunRows run = server("host_cpu", 100 * kUs, {.prefill_every = 10});
    run.change("UPDATE gap SET ns = 40000000, longest_ns = 40000000 WHERE step % 10 = 0");
    run.change("UPDATE activity SET ns = 40000000 WHERE classes = 0 AND step % 10 = 0");
    CHECK(run.says("between_iterations"));
    run.change("UPDATE step SET has_load = 1 WHERE step % 10 = 0");
    run.change("INSERT INTO load_stat (rank_id, after_warm_up, after_warm_up_ns) VALUES (0, 2, 1000)");
    CHECK_FALSE(run.says("between_iterations"));
    CHECK(run.look("recompilation")->gain.high_ns >= 3.9 * kMs);
    CHECK(run.look("recompilation")->try_it.find("before the first request") != std::string::npos);
}

TEST_CASE("many short times of the host between launches are the launches'", "[rule][rule_serving]") {
    RunRows run = server("host_unknown", of_step(0.3), {.with_graph = 0});
    CHECK(run.said() == "between_iterations");
    run.change("UPDATE gap SET pieces = 100, longest_ns = ns / 50");
    CHECK(run.said() == "decode_without_graphs");
    RunRows graphs = server("host_unknown", of_step(0.3), {.with_graph = 10});
    graphs.change("UPDATE gap SET pieces = 100, longest_ns = ns / 50");
    CHECK(graphs.said() == "between_iterations");
}

TEST_CASE("what is usual is told by iterations that were timed", "[rule][rule_serving]") {
    RunRows run = server("host_blocked", 100 * kUs);
    run.change("UPDATE gap SET ns = 2000000, longest_ns = 2000000");
    // Of one iteration in four the GPU's times are known.
    for (const char* table : {"gap", "activity", "gpu_step"})
        run.change(std::string("DELETE FROM ") + table + " WHERE step % 4 <> 0");
    run.change("UPDATE activity SET ns = 2000000 WHERE classes = 0");
    CHECK(run.said() == "between_iterations");
}

TEST_CASE("waiting for launches is a matter of graphs where decodes have none", "[rule][rule_serving]") {
    CHECK(server("launch_bound", of_step(0.3), {.with_graph = 10}).said() == "launch_bound");
    CHECK(server("launch_bound", of_step(0.3), {.with_graph = 0}).said() == "decode_without_graphs");
    // Three decodes in ten have none, and all wait alike: graphs are the smaller part of it.
    RunRows some = server("launch_bound", of_step(0.3), {.with_graph = 7});
    CHECK(some.said() == "launch_bound graph_misses");
    // Only these wait: it is a matter of graphs alone.
    some.change("UPDATE gap SET ns = 0 WHERE step % 10 < 7");
    some.change("UPDATE activity SET ns = 0 WHERE classes = 0 AND step % 10 < 7");
    some.change("UPDATE activity SET ns = 20000000 WHERE classes = 1 AND step % 10 < 7");
    CHECK(some.said() == "graph_misses");
    // They may be prompts: nobody knows that these should have a graph.
    some.change("UPDATE iteration SET kind = 'eager' WHERE graphs = 0");
    CHECK(some.said() == "launch_bound");
}

TEST_CASE("a host that sleeps much longer than usual has nothing to serve", "[rule][rule_serving]") {
    // One iteration in ten waits 100 ms for a request; between others the host takes 0.1 ms.
    RunRows run = server("host_blocked", 100 * kUs);
    CHECK(run.said() == "");
    run.change("UPDATE gap SET ns = 100000000, longest_ns = 100000000 WHERE step % 10 = 0");
    run.change("UPDATE activity SET ns = 100000000 WHERE classes = 0 AND step % 10 = 0");
    CHECK(run.said() == "no_requests");
    // It ran: then it scheduled.
    run.change("UPDATE gap SET cause = 'host_cpu'");
    CHECK(run.said() == "between_iterations");
}

TEST_CASE("where requests are marked, want of them is measured", "[rule][rule_serving]") {
    // The host polls: it never sleeps. In one iteration in ten no request is open for 12 of 16 ms of it.
    RunRows run = server("host_cpu", 100 * kUs);
    run.change("UPDATE gap SET ns = 16000000, longest_ns = 16000000 WHERE step % 10 = 0");
    run.change("UPDATE activity SET ns = 16000000 WHERE classes = 0 AND step % 10 = 0");
    CHECK(run.said() == "between_iterations");
    run.change("INSERT INTO quiet SELECT rank_id, step, iif(step % 10 = 0, 12000000, 0) FROM iteration");
    CHECK(run.says("no_requests"));
    CHECK(run.look("no_requests")->confidence == 0.95);
    CHECK(run.look("between_iterations")->gain.high_ns == Approx(0.1 * 4e6 + 0.9 * 100e3).epsilon(0.02));
    // It slept long, but a request was open all the time: it waited for something else.
    run.change("UPDATE quiet SET ns = 0");
    run.change("UPDATE gap SET cause = 'host_blocked'");
    CHECK_FALSE(run.says("no_requests"));
    CHECK(run.says("between_iterations"));
}

TEST_CASE("tokens that wait for a prompt are told, not promised to get faster", "[rule][rule_serving]") {
    RunRows run = server("kernel_gap", 0, {.with_graph = 10, .prefill_every = 5});
    CHECK(run.said() == "prefill_stalls");
    CHECK(run.look("prefill_stalls")->kind == Kind::kNote);
    RunRows rare = server("kernel_gap", 0, {.with_graph = 10});
    CHECK(rare.said() == "");
}

TEST_CASE("a model on its way to the GPU is not streamed from the host", "[rule][rule_serving]") {
    const auto copying = [](int64_t steps) {
        RunRows run;
        run.rank(0).steps(0, {.ran = {{kCompute, 12 * kMs}, {kTransfer, 8 * kMs}, {kH2d, 8 * kMs}}});
        run.add("program", {{"rank_id", 0}, {"kind", "serving"}, {"confidence", 0.95}, {"why", "told"}});
        add_copies(run, "h2d", "pinned", steps);
        return run;
    };
    CHECK(copying(20).says("offload_copies"));
    CHECK_FALSE(copying(1).says("offload_copies"));
    // For a fourteenth of an iteration nothing else runs.
    RunRows little = copying(20);
    little.change("UPDATE activity SET ns = ns * 8 WHERE classes = 1");
    CHECK(little.look("offload_copies"));
    little.change("UPDATE activity SET ns = ns * 2 WHERE classes = 1");
    CHECK(!little.look("offload_copies"));
    // Tokens go in over the bus, and a cache is moved within the GPU.
    const auto within = [&](const char* kind) {
        RunRows run = copying(20);
        run.change("UPDATE copy_stat SET bytes = 1024, blocks_kernels_ns = 1000");
        add_copies(run, kind, "device", 20, 20 * 8 * kMs);
        return run;
    };
    CHECK_FALSE(within("d2d").says("offload_copies"));
    CHECK_FALSE(within("p2p").says("offload_copies"));
    CHECK(within("d2h").says("offload_copies"));
}

}  // namespace rule_serving_test
