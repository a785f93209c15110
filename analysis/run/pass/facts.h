// What is known of one trace before its calls are gone through: who it is, its GPUs, streams, kernels and
// steps. Made once per trace; read-only from then on, any thread.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "../../idle/attribute.h"
#include "../../kernel/kernel_class.h"
#include "../../step/iterations.h"
#include "../../trace/by_number.h"
#include "../../trace/call.h"
#include "../../trace/inputs.h"
#include "../../trace/python_lines.h"

namespace gpushim::analysis {

struct Gpu {
    int64_t gpu_id;  // row of `gpu` in the run; one for each (trace, device)
    int64_t device_id;
    std::string uuid, name;
    bool simulated;
    DeviceFacts idle;  // latencies, for asking why it was idle
    std::optional<int64_t> multiprocessors = {};
};

// A device's name is all that tells that it is none.
bool is_simulated(const std::string& device_name);

struct Kernel {  // each name once
    std::string name;
    KernelClass facts;
};

struct Shape {
    int32_t kernel = -1;                        // index into kernels; -1: its name is not recorded
    int64_t blocks = 0, threads_per_block = 0;  // 0: not recorded
    bool is_node = false;                       // launched by a graph, in a trace that has these one by one
};

struct Api {
    std::string name, base, kind;
};

struct GraphContents {  // what a launch of it runs; -1: not recorded
    int64_t kernels = -1, copies = -1, memsets = -1, bytes = -1;
    std::vector<std::pair<int32_t, int64_t>> by_kernel;  // (index into kernels, how often)
};

struct RunOptions {
    std::optional<int64_t> params, samples_per_step, tokens_per_sample, flops_per_sample;
    std::optional<double> bandwidth_bytes_per_s, between_bytes_per_s, price_per_gpu_hour;
    std::string step_marker;
    std::optional<Program> program;
    std::optional<size_t> processors;  // for the analysis; none: all that there are
};

struct TraceFacts {
    const Trace* trace;
    int64_t rank_id;  // row of `rank` in the run; one for each trace
    RunOptions options;
    // There are processors for more than a thread for each trace: it is read, and its parts are given what
    // was read, by threads of their own. Figures are the same.
    bool reads_ahead = false;
    std::vector<Gpu> gpus;
    std::vector<Lane> lanes;
    std::vector<std::string> streams;  // by lane: what people call it
    std::vector<int32_t> gpu_of_lane;  // index into gpus; -1: not known
    std::vector<Kernel> kernels;
    ByNumber<Shape> shapes;                             // by shape.id
    std::unordered_map<int64_t, GraphContents> graphs;  // by graph.id
    std::unordered_map<int64_t, Api> apis;              // by api.id
    std::vector<std::string> host_classes;              // what samples said a thread was blocked on
    PythonLines python;
    Served served;  // what kind of program it is; its own steps are in `found` where it serves
    Steps found;
    std::vector<Iteration> iterations;  // by step; none: the program does not serve, or has no steps
    // The steps, or, where none were found, slices of the run so long that there are at most 100 of them.
    std::vector<Step> steps;
    bool are_slices = false;
    // By step, where steps are from when their work ran (profile_steps): when it was called. Else empty.
    std::vector<Interval> called;
    // Where steps that count are, if any window has some of them: what others have of the start-up, or of
    // what comes after the last step, says nothing of a GPU.
    std::optional<Interval> only_within;
    int64_t clock_error_ns = 0;  // between the host's clock and device times

    static constexpr int64_t kManaged = 3;  // memory, in the column `sides` of copy
    // False: it was launched before a trace of another tool begins, so nothing is known of when.
    static bool has_call(const Call& call) { return call.thread_id != 0 || call.exit_ns != call.enter_ns; }
    // Pages of managed memory that moved: in no stream's order.
    static bool is_migration(const Call& call) {
        constexpr int64_t kNotTold = 0;
        const bool is_copy = call.type == OperationClass::h2d || call.type == OperationClass::d2h ||
                             call.type == OperationClass::d2d;
        const int64_t source = call.detail & 7, target = call.detail >> 3;  // column `sides` of copy
        return call.kind == CallKind::operation && is_copy && !has_call(call) && source == kManaged &&
               (target == kManaged || target == kNotTold);
    }
    // … because something touched them, and not because somebody asked for it.
    static bool is_touched_page(const Call& call) {
        return is_migration(call) && call.detail >> 3 == kManaged;
    }
    // Launched by the call that launched the graph's first node: it cost the host nothing.
    bool is_later_node(const Call& call) const {
        if (call.kind != CallKind::operation || call.exit_ns != call.enter_ns) return false;
        return is_node(call);
    }
    bool is_node(const Call& call) const {
        if (call.type == OperationClass::graph) return false;
        if (call.type == OperationClass::compute || call.type == OperationClass::comm) {
            const Shape* shape = shapes.find(call.detail);
            return shape != nullptr && shape->is_node;
        }
        const auto api = apis.find(call.api_id);
        return api != apis.end() && api->second.kind == "graph_launch";
    }

    // When what a step runs was called.
    Interval called_in(size_t step) const {
        return called.empty() ? Interval{steps[step].begin_ns, steps[step].end_ns} : called[step];
    }
    // In a step that is known from begin to end, one that does not count, too: v_run_steps.recorded_steps.
    bool is_in_step(const Call& call) const {
        if (are_slices || call.step < 0 || static_cast<size_t>(call.step) >= steps.size()) return false;
        const Step& step = steps[static_cast<size_t>(call.step)];
        return !step.is_left_out || (step.why_left_out != kResting && step.why_left_out != kNoEnd);
    }

    // None: not known.
    const Kernel* kernel_of_shape(int64_t id) const {
        const Shape* shape = shapes.find(id);
        return shape == nullptr || shape->kernel < 0 ? nullptr : &kernels[static_cast<size_t>(shape->kernel)];
    }
    // None: not known, or the call is no kernel.
    const Kernel* kernel_of(const Call& call) const {
        if (call.kind != CallKind::operation || call.detail < 0) return nullptr;
        return kernel_of_shape(call.detail);
    }
};

}  // namespace gpushim::analysis
