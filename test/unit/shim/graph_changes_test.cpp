// What graphs hold when calls have changed it.
#include "told_graphs.h"

namespace graph_changes_test {

using namespace graphs;

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

//  0x9a is a graph, 0x9b another that becomes node 7 of it; 0xea is made of 0x9a and gets 0x9b in place of
//  both
TEST_CASE("a call says which graph or function is in a graph from then on", "[graphs]") {
    constexpr uint64_t kOther = 0x9b;
    Program program;
    program.call("cuGraphCreate", {kGraph, 0, 0});
    program.call("cuGraphCreate", {kOther, 0, 0});
    program.call("cuGraphAddKernelNode_v2", {kGraph, 6, kA, 0});
    program.call("cuGraphAddChildGraphNode", {kGraph, 7, kOther, 0});
    program.call("cuGraphKernelNodeSetParams_v2", {0, 6, kB, 0});
    program.instantiate(kChain);
    program.set_function(1, kB);
    program.set_bytes(3, 7);
    program.set_child(7, kChain);
    program.call("cuGraphExecUpdate_v2", {kExec, kOther, 0, static_cast<uint64_t>(GraphChange::contents)});
    program.call("cuGraphExecUpdate_v2", {kExec, kOther, 0, 910}, {.flags = kFailed});
    program.write();
    CHECK(program.trace.ask("SELECT substr(a.name, 8), h.kind, h.handle, c.node FROM call c"
                            " JOIN api a ON a.id = c.api_id LEFT JOIN handle h ON h.id = c.holds_id"
                            " WHERE a.kind = 'graph' ORDER BY c.enter_ns") ==
          "AddKernelNode_v2|-|-|- ; AddChildGraphNode|graph|155|7 ; KernelNodeSetParams_v2|function|3856|6 ; "
          "ExecKernelNodeSetParams_v2|function|3856|1 ; ExecMemcpyNodeSetParams|-|-|- ; "
          "ExecChildGraphNodeSetParams|graph|154|7 ; ExecUpdate_v2|graph|155|- ; ExecUpdate_v2|-|-|-");
}

}  // namespace graph_changes_test
