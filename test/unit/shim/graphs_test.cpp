// What graphs hold: as threads tell it, as calls change it, and when nobody knows.
#include "trace.h"

using namespace trace;

namespace {

constexpr uint64_t kA = 0xf00, kB = 0xf10, kExec = 0xea, kGraph = 0x9a, kStream = 0x5000;

struct Told {
    GraphNode kind;
    uint64_t node;
    uint64_t value;
};
using Nodes = std::vector<Told>;

Told kernel(uint64_t node, uint64_t function) { return {GraphNode::kernel, node, function}; }
Told copy(uint64_t node, uint64_t bytes) { return {GraphNode::copy, node, bytes}; }
Told of(GraphNode kind, uint64_t node) { return {kind, node, 0}; }

const Nodes kChain = {kernel(1, kA), kernel(2, kB), copy(3, 100)};

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

constexpr const char* kNotRecorded = "-|-|-|-|-";

}  // namespace

TEST_CASE("where rows are gone nobody knows what a graph holds when the trace is opened again", "[graphs]") {
    const std::string in_a = "1|0|0|0|0", in_b = "2|0|0|0|0";
    for (const bool gone : {false, true}) {
        Program program;
        program.instantiate({kernel(1, kA)});
        program.launch();
        program.update({kernel(1, kA), kernel(2, kB)});
        program.launch();
        program.update({kernel(1, kA)});
        program.launch();
        CHECK(program.launched() == in_a + " ; " + in_b + " ; " + in_a);
        program.trace.close();
        sqlite3* base = nullptr;
        REQUIRE(sqlite3_open(program.trace.path().c_str(), &base) == SQLITE_OK);
        const char* const sql =
            "DELETE FROM graph_launch; DELETE FROM call; INSERT INTO summarised VALUES (0, 1000, 9, 0, 0)";
        if (gone) REQUIRE(sqlite3_exec(base, sql, nullptr, nullptr, nullptr) == SQLITE_OK);
        sqlite3_close(base);
        program.trace.open();
        program.launch();
        CHECK(program.launched() ==
              (gone ? kNotRecorded : in_a + " ; " + in_b + " ; " + in_a + " ; " + in_a));
    }
}

TEST_CASE("a launch of a graph runs what the graph holds", "[graphs]") {
    Program program;
    program.instantiate({kernel(1, kA), kernel(2, kA), of(GraphNode::memset, 3), copy(4, 100), copy(5, 23),
                         of(GraphNode::other, 6), kernel(7, kB)});
    program.launch();
    program.launch();
    CHECK(program.launched() == "3|2|1|1|123 ; 3|2|1|1|123");
    CHECK(program.kernels() == "0|4 ; 16|2");
    CHECK(program.trace.ledger() == "3|3|0|0|0|0");
}

TEST_CASE("a child graph's nodes count, the node that holds them does not", "[graphs]") {
    Program program;
    program.instantiate({of(GraphNode::child, 1), kernel(2, kA), of(GraphNode::child, 3), kernel(4, kB),
                         of(GraphNode::end, 3), of(GraphNode::end, 1), kernel(5, kA)});
    program.launch();
    CHECK(program.launched() == "3|0|0|0|0");
}

TEST_CASE("bytes that one copy does not tell are not known", "[graphs]") {
    Program program;
    program.instantiate({copy(1, 100), copy(2, kNotTold), copy(3, 5)});
    program.launch();
    CHECK(program.launched() == "0|3|0|0|-");
}

TEST_CASE("what was not told to the end is not recorded", "[graphs]") {
    Program program;
    program.call("cuGraphInstantiateWithFlags", {kExec, kGraph, 0});
    SECTION("nothing was told") {}
    SECTION("no end") {
        program.begin();
        program.nodes(kChain);
    }
    SECTION("some are missing") {
        program.begin();
        program.nodes(kChain);
        program.end(kChain.size() + 1);
    }
    SECTION("no beginning") {
        program.nodes(kChain);
        program.end(kChain.size());
    }
    SECTION("a kind that there is not") { program.tell({kernel(1, kA), {static_cast<GraphNode>(77), 2, 0}}); }
    program.launch();
    CHECK(program.launched() == kNotRecorded);
    CHECK(program.kernels().empty());
}

TEST_CASE("a telling may come in several batches, and two threads tell at once", "[graphs]") {
    Program program;
    program.call("cuGraphInstantiateWithFlags", {kExec, kGraph, 0});
    program.call("cuGraphInstantiateWithFlags", {kExec + 1, kGraph, 0}, {.thread = 2});
    program.begin();
    program.begin(kExec + 1, 0, 2);
    program.nodes({kernel(1, kA), kernel(2, kA)});
    program.write();
    program.nodes({copy(1, 7)}, 2);
    program.nodes({kernel(3, kA)});
    program.write();
    program.end(1, kExec + 1, 0, 2);
    program.end(3);
    program.launch();
    program.launch(kExec + 1);
    CHECK(program.launched() == "3|0|0|0|0 ; 0|1|0|0|7");
}

TEST_CASE("an update takes over what it is given", "[graphs]") {
    Program program;
    program.instantiate(kChain);
    program.launch();
    program.update({kernel(11, kB), kernel(12, kB), copy(13, 2000)});
    program.launch();
    program.call("cuGraphExecUpdate_v2", {kExec, kGraph, 0, 910}, {.flags = kFailed});
    program.launch();
    program.call("cuGraphExecUpdate_v2", {kExec, kGraph, 0, static_cast<uint64_t>(GraphChange::contents)});
    program.launch();  // it was not told what
    program.update(kChain);
    program.launch();
    CHECK(program.launched() == "2|1|0|0|100 ; 2|1|0|0|2000 ; 2|1|0|0|2000 ; -|-|-|-|- ; 2|1|0|0|100");
    CHECK(program.kernels() == "0|2 ; 16|6");
}

TEST_CASE("an update that was not looked at leaves what was there", "[graphs]") {
    Program program;
    const auto update_unseen = [&program] {
        program.call("cuGraphExecUpdate_v2",
                     {kExec, kGraph, 0, static_cast<uint64_t>(GraphChange::contents)});
        program.skip();
    };
    program.instantiate(kChain);
    SECTION("and it is counted") {
        update_unseen();
        program.launch();
        program.set_bytes(3, 7);  // nodes go by the handles of the graph that was looked at last
        update_unseen();
        program.launch();
        CHECK(program.launched() == "2|1|0|0|100 ; 2|1|0|0|7");
        CHECK(program.trace.ask("SELECT value FROM meta WHERE key = 'graphs_assumed'") == "2");
    }
    SECTION("nothing, where that was not known") {
        program.call("cuGraphExecUpdate_v2",
                     {kExec, kGraph, 0, static_cast<uint64_t>(GraphChange::contents)});
        update_unseen();
        program.launch();
        CHECK(program.launched() == kNotRecorded);
        CHECK(program.trace.ask("SELECT value FROM meta WHERE key = 'graphs_assumed'") == "");
    }
    SECTION("a child, too") {
        program.update({of(GraphNode::child, 1), kernel(2, kA), of(GraphNode::end, 1), kernel(3, kB)});
        program.call("cuGraphExecChildGraphNodeSetParams",
                     {kExec, 1, kGraph, static_cast<uint64_t>(GraphChange::child)});
        program.skip(1);
        program.launch();
        CHECK(program.launched() == "2|0|0|0|0");
    }
}

TEST_CASE("single nodes change", "[graphs]") {
    Program program;
    program.instantiate(kChain);
    program.set_function(1, kB);
    program.set_bytes(3, 5);
    program.launch();
    CHECK(program.launched() == "2|1|0|0|5");
    CHECK(program.kernels() == "16|2");
}

TEST_CASE("of a node that is not known nobody knows what it replaces", "[graphs]") {
    Program program;
    program.instantiate(kChain);
    program.update({kernel(11, kA), kernel(12, kB), copy(13, 100)});
    program.set_function(1, kB);  // of the graph that it was made from
    program.launch();
    program.update({kernel(11, kA), kernel(12, kB), copy(13, 100)});
    program.launch();
    CHECK(program.launched() == "-|-|-|-|- ; 2|1|0|0|100");
}

TEST_CASE("nodes that are off do not run", "[graphs]") {
    Program program;
    program.instantiate(kChain);
    program.enable(1, false);
    program.launch();
    program.enable(3, false);
    program.launch();
    program.enable(1, true);
    program.launch();
    CHECK(program.launched() == "1|1|0|0|100 ; 1|0|0|0|0 ; 2|0|0|0|0");
    CHECK(program.kernels() == "0|1 ; 16|3");
}

TEST_CASE("a node stays off when the graph is updated", "[graphs]") {
    Program program;
    program.instantiate(kChain);
    program.enable(1, false);
    SECTION("from the graph that it was made from") {
        program.update({kernel(1, kB), kernel(2, kB), copy(3, 50)});
        program.launch();
        CHECK(program.launched() == "1|1|0|0|50");
    }
    SECTION("from another one: which of its nodes is off, only the driver knows") {
        program.update({kernel(11, kB), kernel(12, kB), copy(13, 50)});
        program.launch();
        program.enable(1, true);
        program.launch();
        CHECK(program.launched() == "-|-|-|-|- ; 2|1|0|0|50");
    }
}

TEST_CASE("what is below a node changes", "[graphs]") {
    Program program;
    program.instantiate({kernel(1, kA), of(GraphNode::child, 2), kernel(3, kA), of(GraphNode::child, 4),
                         kernel(5, kA), of(GraphNode::end, 4), of(GraphNode::end, 2), kernel(6, kA)});
    program.launch();
    program.set_child(2, {kernel(7, kB), of(GraphNode::child, 8), copy(9, 10), of(GraphNode::end, 8)});
    program.launch();
    program.set_child(2, {kernel(10, kB)});
    program.launch();
    CHECK(program.launched() == "4|0|0|0|0 ; 3|1|0|0|10 ; 3|0|0|0|0");
    SECTION("one that was not told leaves nothing known but for that node") {
        program.call("cuGraphExecChildGraphNodeSetParams",
                     {kExec, 2, kGraph, static_cast<uint64_t>(GraphChange::child)});
        program.launch();
        program.set_child(2, kChain);
        program.launch();
        CHECK(program.launched() == "4|0|0|0|0 ; 3|1|0|0|10 ; 3|0|0|0|0 ; -|-|-|-|- ; 4|1|0|0|100");
    }
    SECTION("nor do two") {
        for (const uint64_t node : {uint64_t{2}, uint64_t{10}})
            program.call("cuGraphExecChildGraphNodeSetParams",
                         {kExec, node, kGraph, static_cast<uint64_t>(GraphChange::child)});
        program.tell(kChain, kExec, 2);
        program.launch();
        CHECK(program.launched() == "4|0|0|0|0 ; 3|1|0|0|10 ; 3|0|0|0|0 ; -|-|-|-|-");
    }
}

TEST_CASE("states that come again share a row", "[graphs]") {
    Program program;
    program.instantiate(kChain);
    for (int i = 0; i < 100; ++i) {
        program.enable(1, i % 2 != 0);
        program.launch();
    }
    program.write();
    CHECK(program.trace.ask("SELECT count(*) FROM graph") == "2");
    CHECK(program.trace.ask("SELECT graph_id, count(*) FROM graph_launch GROUP BY 1") == "1|50 ; 2|50");
}

TEST_CASE("handles of graphs are used again", "[graphs]") {
    Program program;
    program.instantiate(kChain);
    program.launch();
    program.call("cuGraphExecDestroy", {kExec});
    program.call("cuGraphInstantiateWithFlags", {kExec, kGraph, 0});
    program.launch();
    program.call("cuGraphExecDestroy", {kExec});
    program.instantiate({copy(1, 9)});
    program.launch();
    CHECK(program.launched() == "2|1|0|0|100 ; -|-|-|-|- ; 0|1|0|0|9");
}

TEST_CASE("a graph that was there before is not known, whatever is told of it", "[graphs]") {
    Program program;
    program.launch();
    program.update(kChain);  // which of its nodes are off was said before
    program.launch();
    CHECK(program.launched() == "-|-|-|-|- ; -|-|-|-|-");
    CHECK(program.trace.ask("SELECT count(*) FROM graph") == "1");
}

TEST_CASE("who reads the trace back knows what still holds", "[graphs]") {
    Program program;
    program.instantiate(kChain);
    SECTION("before the first launch") {}
    SECTION("after launches") {
        program.enable(1, false);
        program.launch();
        program.enable(1, true);
        program.launch();
    }
    program.write();
    program.trace.open(Store::Role::recovery);
    program.call("cuStreamSynchronize", {kStream});
    program.launch();
    program.write();
    const char* newest = "SELECT kernels, copies, bytes FROM v_graph_launch ORDER BY enter_ns DESC LIMIT 1";
    CHECK(program.trace.ask(newest) == "2|1|100");
    program.enable(1, false);
    program.launch();
    program.write();
    CHECK(program.trace.ask(newest) == "-|-|-");
}

TEST_CASE("a change that was not launched any more is not forgotten", "[graphs]") {
    Program program;
    program.instantiate(kChain);
    program.launch();
    program.enable(1, false);
    program.write();
    program.trace.open(Store::Role::recovery);
    program.launch();
    CHECK(program.launched() == std::string("2|1|0|0|100 ; ") + kNotRecorded);
}

TEST_CASE("kernels ran by themselves and in graphs", "[graphs]") {
    Program program;
    program.call("cuModuleGetFunction", {kA, 0x700, 1}, {.text = "a"});
    program.call("cuLaunchKernel", {kA, kStream, kGrid, kBlock}, {.flags = kCaptured});
    program.call("cuLaunchKernel", {kA, kStream, kGrid, kBlock});
    program.instantiate(kChain);
    program.launch();
    program.call("cuGraphLaunch", {kExec, kStream}, {.flags = kCaptured});
    program.call("cuGraphLaunch", {kExec, kStream, 0, 1}, {.flags = kFailed});
    program.launch();
    program.write();
    CHECK(program.trace.ask("SELECT kernel, launched, in_graphs, executed FROM v_kernel_executed") ==
          "(name not known)|0|2|2 ; a|1|2|3");
    CHECK(program.trace.ask("SELECT kernel, launches FROM v_kernel_total") == "a|1");
    CHECK(program.trace.ask("SELECT kernels, captured, failed FROM v_graph_launch ORDER BY enter_ns") ==
          "2|0|0 ; 2|1|0 ; -|0|1 ; 2|0|0");
}
