// What graphs hold: as threads tell it, and when nobody knows.
#include "told_graphs.h"

namespace graphs_test {

using namespace graphs;

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

}  // namespace graphs_test
