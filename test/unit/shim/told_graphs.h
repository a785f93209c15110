// What graphs hold, for tests: threads that tell it, calls that change it, and what the trace then says.
#pragma once

#include <string>
#include <vector>

#include "trace.h"

namespace graphs {

using namespace trace;

inline constexpr uint64_t kA = 0xf00, kB = 0xf10, kExec = 0xea, kGraph = 0x9a, kStream = 0x5000;

struct Told {
    GraphNode kind;
    uint64_t node;
    uint64_t value;
};
using Nodes = std::vector<Told>;

inline Told kernel(uint64_t node, uint64_t function) { return {GraphNode::kernel, node, function}; }
inline Told copy(uint64_t node, uint64_t bytes) { return {GraphNode::copy, node, bytes}; }
inline Told of(GraphNode kind, uint64_t node) { return {kind, node, 0}; }

inline const Nodes kChain = {kernel(1, kA), kernel(2, kB), copy(3, 100)};

// Events follow each other, each in its own nanosecond.
class Program {
  public:
    Trace trace;

    void call(const char* name, std::initializer_list<uint64_t> words, const Options& options = {}) {
        events.call(name, now_, now_ + 1, words, options);
        now_ += 2;
    }
    void begin(uint64_t exec = kExec, uint64_t below = 0, int32_t thread = 1) {
        slot(EventKind::graph_content, {exec, below, 0, 0}, thread);
    }
    void nodes(const Nodes& told, int32_t thread = 1) {
        for (size_t i = 0; i < told.size(); i += 2) {
            const bool last = i + 1 == told.size();
            slot(EventKind::graph_nodes,
                 {word(told[i]), told[i].value, last ? 0 : word(told[i + 1]), last ? 0 : told[i + 1].value},
                 thread);
        }
    }
    void end(uint64_t count, uint64_t exec = kExec, uint64_t below = 0, int32_t thread = 1) {
        slot(EventKind::graph_content, {exec, below, count, 1}, thread);
    }
    void skip(uint64_t below = 0) {
        slot(EventKind::graph_content, {kExec, below, 0, static_cast<uint64_t>(GraphTelling::skipped)}, 1);
    }
    void tell(const Nodes& told, uint64_t exec = kExec, uint64_t below = 0) {
        begin(exec, below);
        nodes(told);
        end(told.size(), exec, below);
    }
    void instantiate(const Nodes& told, uint64_t exec = kExec) {
        call("cuGraphInstantiateWithFlags", {exec, kGraph, 0});
        tell(told, exec);
    }
    void update(const Nodes& told) {
        call("cuGraphExecUpdate_v2", {kExec, kGraph, 0, number(GraphChange::contents)});
        tell(told);
    }
    void set_child(uint64_t node, const Nodes& told) {
        call("cuGraphExecChildGraphNodeSetParams", {kExec, node, kGraph, number(GraphChange::child)});
        tell(told, kExec, node);
    }
    void set_function(uint64_t node, uint64_t function) {
        call("cuGraphExecKernelNodeSetParams_v2", {kExec, node, function, number(GraphChange::function)});
    }
    void set_bytes(uint64_t node, uint64_t bytes) {
        call("cuGraphExecMemcpyNodeSetParams", {kExec, node, bytes, number(GraphChange::bytes)});
    }
    void enable(uint64_t node, bool on) {
        call("cuGraphNodeSetEnabled", {kExec, node, on ? 1u : 0, number(GraphChange::enabled)});
    }
    void launch(uint64_t exec = kExec) { call("cuGraphLaunch", {exec, kStream}); }
    void write() { trace.write(events); }

    // By launch: kernels, copies, memsets, other, bytes.
    std::string launched() {
        write();
        return trace.ask(
            "SELECT kernels, copies, memsets, other, bytes FROM v_graph_launch ORDER BY enter_ns");
    }
    std::string kernels() {
        return trace.ask(
            "SELECT h.handle - 3840, sum(k.count) FROM graph_launch l JOIN graph_kernel k USING (graph_id)"
            " JOIN handle h ON h.id = k.handle_id GROUP BY 1 ORDER BY 1");
    }

    Events events;

  private:
    static uint64_t number(GraphChange change) { return static_cast<uint64_t>(change); }
    static uint64_t word(const Told& told) {
        return told.node | static_cast<uint64_t>(told.kind) << kNodeShift;
    }
    void slot(EventKind kind, std::initializer_list<uint64_t> words, int32_t thread) {
        events.event(kNoApi, kind, now_, now_, words, {.thread = thread});
        ++now_;
    }
    int64_t now_ = 1;
};

inline constexpr const char* kNotRecorded = "-|-|-|-|-";

}  // namespace graphs
