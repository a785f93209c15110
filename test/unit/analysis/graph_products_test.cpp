// Matrix products in graphs, worked out by hand: what a launch of a graph computes.
#include "analysis/run/parts/own_parts.h"
#include "made_facts.h"
#include "shim/schema/flags.h"

#include <catch2/catch.hpp>

namespace graph_products_test {

using namespace made;

namespace {

// Calls of one thread, each 100 ns behind the other. Graphs have handles from 100 on, executable ones from
// 200; kernels are 0: gemm, 1: what adds its parts up, 2: another matrix product, 3: none.
class Program {
  public:
    MadeFacts made;

    Program() {
        for (const char* name : {"ampere_sgemm_128x64_tn", "splitKreduce_kernel", "ampere_dgemm", "own"})
            made.kernel(name);
        made.made.run(
            "INSERT INTO handle VALUES (50, 'kernel', 50, 0, NULL, NULL, NULL, 1),"
            " (53, 'kernel', 53, 0, NULL, NULL, NULL, 2);"
            "INSERT INTO name VALUES (1, 'ampere_sgemm_128x64_tn', NULL), (2, 'own', NULL)");
    }
    void call(const std::string& base, const std::string& target, const std::string& holds = "NULL",
              const std::string& node = "NULL", int64_t flags = 0, int64_t stream = 1) {
        int64_t api = 1;
        while (made.facts.apis.contains(api) && made.facts.apis.at(api).base != base) ++api;
        made.facts.apis[api] = {base, base, "graph"};
        made.made.run("INSERT INTO call VALUES (" + next() + ", 10, 1, " + std::to_string(api) + ", " +
                      target + ", " + std::to_string(stream) + ", NULL, " + std::to_string(flags) + ", " +
                      holds + ", " + node + ")");
    }
    void begin(int64_t stream = 1) { call("cuStreamBeginCapture", "NULL", "NULL", "NULL", 0, stream); }
    void end(int64_t graph, int64_t stream = 1) {
        handle(graph, "NULL");
        call("cuStreamEndCapture", std::to_string(graph), "NULL", "NULL", 0, stream);
    }
    // Into a graph: products, each by these kernels.
    void capture(int64_t graph, const std::vector<std::vector<int64_t>>& products) {
        begin();
        for (const std::vector<int64_t>& kernels : products) product(kernels);
        end(graph);
    }
    // A product of 65,536 operations by these kernels.
    void product(const std::vector<int64_t>& kernels, int64_t stream = 1, int64_t thread = 1) {
        made.made.run("INSERT INTO gemm VALUES (" + next() + ", " +
                      std::to_string(100 * kernels.size() + 50) + ", " + std::to_string(thread) +
                      ", NULL, 64, 32, 16, 1, 0, 0, 0, NULL, 1, 1, 0)");
        for (const int64_t kernel : kernels) captured(kernel, stream, thread);
    }
    void captured(int64_t kernel, int64_t stream = 1, int64_t thread = 1) {
        made.made.run("INSERT INTO launch VALUES (" + next() + ", 10, " + std::to_string(thread) + ", " +
                      std::to_string(stream) + ", " + std::to_string(kernel) + ", NULL, 1)");
    }
    void eager_launches(int count) {
        made.made.run("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < " +
                      std::to_string(count) + ") INSERT INTO launch SELECT " + std::to_string(now_) +
                      " + 100 * i, 10, 1, 1, 0, NULL, 0 FROM n WHERE i <= " + std::to_string(count));
        now_ += 100 * count;
    }
    void make(int64_t exec, int64_t graph) {
        handle(exec, std::to_string(graph));
        call("cuGraphInstantiate", std::to_string(exec));
    }
    void handle(int64_t id, const std::string& parent) {
        made.made.run("INSERT OR IGNORE INTO handle VALUES (" + std::to_string(id) + ", '" +
                      (id < 200 ? "graph" : "exec") + "', 1, " + std::to_string(now_) + ", NULL, " + parent +
                      ", NULL, NULL)");
    }
    // What a launch of it runs: (kernel, how often).
    void state(int64_t id, int64_t exec, const std::vector<std::pair<int32_t, int64_t>>& kernels,
               bool is_known = true) {
        made.made.run("INSERT INTO graph VALUES (" + std::to_string(id) + ", " + std::to_string(exec) +
                      ", 1, 0, 0, 0, 0)");
        GraphContents& contents = made.facts.graphs[id];
        contents.kernels = is_known ? 1 : kNotRecorded;
        contents.by_kernel = kernels;
    }
    void launch(int64_t state, int32_t step) {
        const int64_t now_ns = now_ += 100;
        launches_.push_back(in_step(
            of_kind(made::launch(0, now_ns, now_ns + 10), OperationClass::graph, kNotRecorded, state), step));
    }
    // By step: products, operations over those of one; then of graphs: launches, known, matrix products, why.
    std::string worked_out() {
        Written written;
        all_of(make_product_part(made.facts), made, launches_, written);
        return written.ask(
            "SELECT coalesce((SELECT group_concat(step || ':' || products || '*' ||"
            " CAST(flops / products / 65536 AS INTEGER), ' ') FROM product_step), '-') || ' | ' ||"
            " (SELECT group_concat(launches || '/' || known || '/' ||"
            " coalesce(matrix_kernels, '?') || coalesce('/' || substr(why, 1, 12), ''), ' ')"
            " FROM graph_product) || ' | ' || coalesce((SELECT group_concat(name || '*' || launches, ' ')"
            " FROM (SELECT * FROM kernel_in_product ORDER BY name)), '-')");
    }

  private:
    std::string next() { return std::to_string(now_ += 100); }
    int64_t now_ = 1000;
    std::vector<Call> launches_;
};

constexpr const char* kBoth = "ampere_sgemm_128x64_tn*2 splitKreduce_kernel*2";

}  // namespace

//  thread   begin ═product═ ═══product═══ own end  make  launch launch
//                  gemm      gemm reduce
TEST_CASE("a launch of a graph does the products that were captured into it", "[graph_products]") {
    Program program;
    program.begin();
    program.product({0});
    program.product({0, 1});
    program.captured(3);
    program.end(100);
    program.make(200, 100);
    program.state(1, 200, {{0, 2}, {1, 1}, {3, 1}});
    program.launch(1, 0);
    program.launch(1, 1);
    program.launch(1, 1);
    CHECK(program.worked_out() == "0:2*1 1:4*1 | 3/3/2 | ampere_sgemm_128x64_tn*6 splitKreduce_kernel*3");
}

TEST_CASE("captures that became no graph, or whose graph was not launched, count for nothing",
          "[graph_products]") {
    Program program;
    program.begin();
    program.product({0});
    program.call("cuStreamEndCapture", "NULL", "NULL", "NULL", gpushim::kRowFailed);
    program.begin();
    program.product({0, 1});
    program.call("cuStreamEndCapture", "NULL");  // it hands out no graph
    program.capture(100, {{0}});
    program.call("cuGraphDestroy", "100");
    program.capture(101, {{0, 1}, {0, 1}});
    program.make(200, 101);
    program.state(1, 200, {{0, 2}, {1, 2}});
    program.launch(1, 0);
    CHECK(program.worked_out() == std::string("0:2*1 | 1/1/2 | ") + kBoth);
}

TEST_CASE("one capture, made executable twice", "[graph_products]") {
    Program program;
    program.capture(100, {{0, 1}});
    program.make(200, 100);
    program.make(201, 100);
    program.call("cuGraphDestroy", "100");
    program.state(1, 200, {{0, 1}, {1, 1}});
    program.state(2, 201, {{0, 1}, {1, 1}});
    program.launch(1, 0);
    program.launch(2, 0);
    CHECK(program.worked_out() == std::string("0:2*1 | 1/1/1 1/1/1 | ") + kBoth);
}

//  stream 1  begin ────────────── end 100      two captures at a time, and a stream that joined one of them:
//  stream 2         begin ── end 101           nobody knows which
//  stream 3               ?
TEST_CASE("of two captures at a time each has its own stream's products", "[graph_products]") {
    Program program;
    program.begin(1);
    program.begin(2);
    program.product({0}, 1, 1);
    program.product({2}, 2, 2);
    program.product({0}, 3, 1);
    program.end(101, 2);
    program.product({0}, 3, 1);  // one is left
    program.end(100, 1);
    program.make(200, 100);
    program.make(201, 101);
    program.state(1, 200, {{0, 3}});
    program.state(2, 201, {{2, 1}});
    program.launch(1, 0);
    program.launch(2, 1);
    CHECK(program.worked_out() == "0:2*1 1:1*1 | 1/1/3 1/1/1 | ampere_dgemm*1 ampere_sgemm_128x64_tn*2");
}

//  stream 1  begin ── end failed      a joined stream's products are those of the capture that is left
//  stream 2                  begin ── end 100
TEST_CASE("a capture whose end failed is over", "[graph_products]") {
    Program program;
    program.begin(1);
    program.call("cuStreamEndCapture", "NULL", "NULL", "NULL", gpushim::kRowFailed, 1);
    program.begin(2);
    program.product({0}, 3, 1);
    program.end(100, 2);
    program.make(200, 100);
    program.state(1, 200, {{0, 1}});
    program.launch(1, 0);
    CHECK(program.worked_out() == "0:1*1 | 1/1/1 | ampere_sgemm_128x64_tn*1");
}

TEST_CASE("an update takes over the products of the other graph", "[graph_products]") {
    Program program;
    program.capture(100, {{0}});
    program.make(200, 100);
    program.capture(101, {{0}, {0}});
    program.state(1, 200, {{0, 1}});
    program.state(2, 200, {{0, 2}});
    program.launch(1, 0);
    SECTION("of which it is known") {
        program.call("cuGraphExecUpdate", "200", "101", "NULL", gpushim::kRowFailed);
        program.launch(1, 1);
        program.call("cuGraphExecUpdate", "200", "101");
        program.launch(2, 2);
        program.launch(2, 2);
        CHECK(program.worked_out() == "0:1*1 1:1*1 2:4*1 | 2/2/1 2/2/2 | ampere_sgemm_128x64_tn*6");
    }
    SECTION("of which nothing is known: an older trace does not say which it was") {
        program.call("cuGraphExecUpdate", "200");
        program.launch(2, 1);
        CHECK(program.worked_out() == "0:1*1 | 1/1/1 1/0/2/a graph was  | ampere_sgemm_128x64_tn*1");
    }
}

TEST_CASE("child graphs, copies and graphs that were launched into a capture", "[graph_products]") {
    Program program;
    program.capture(100, {{0}});
    program.handle(101, "NULL");
    program.call("cuGraphCreate", "101");
    program.call("cuGraphAddChildGraphNode", "101", "100", "7");
    program.call("cuGraphAddChildGraphNode", "101", "100", "8");
    program.handle(102, "101");
    program.call("cuGraphClone", "102");
    program.make(200, 102);  // 2 products
    program.state(1, 200, {{0, 2}});
    program.begin();
    program.product({0, 1});
    program.made.made.run("INSERT INTO graph_launch VALUES (9000, 10, 1, 1, NULL, 1, 1)");
    SECTION("all of them") {
        for (int i = 0; i < 80; ++i) program.captured(3);  // until then
        program.end(103);
        program.make(201, 103);  // 3
        program.state(2, 201, {{0, 3}, {1, 1}, {3, 80}});
        program.launch(1, 0);
        program.launch(2, 1);
        CHECK(program.worked_out() ==
              "0:2*1 1:3*1 | 1/1/2 1/1/3 | ampere_sgemm_128x64_tn*5 splitKreduce_kernel*1");
    }
    SECTION("a child that is replaced") {
        program.end(103);
        program.make(201, 101);
        program.state(2, 201, {{0, 2}});
        program.state(3, 201, {{0, 2}, {1, 1}});
        program.launch(2, 0);
        program.call("cuGraphExecChildGraphNodeSetParams", "201", "103", "7");
        program.launch(3, 1);
        program.call("cuGraphExecChildGraphNodeSetParams", "201", "103", "9");  // which one is not known
        program.launch(3, 2);
        CHECK(program.worked_out() ==
              "0:2*1 1:2*1 | 1/1/2 2/1/2/nodes of a g |"
              " ampere_sgemm_128x64_tn*4 splitKreduce_kernel*1");
    }
}

TEST_CASE("what a node gets later", "[graph_products]") {
    Program program;
    program.begin();
    program.product({0});
    program.captured(3);
    program.end(100);
    program.state(1, 200, {{0, 1}, {3, 1}});
    SECTION("is no product's kernel") {
        program.call("cuGraphKernelNodeSetParams", "NULL", "53", "5");
        program.make(200, 100);
        program.call("cuGraphExecKernelNodeSetParams", "200", "53", "5");
        program.call("cuGraphExecMemcpyNodeSetParams", "200");
        program.launch(1, 0);
        CHECK(program.worked_out() == "0:1*1 | 1/1/1 | ampere_sgemm_128x64_tn*1");
    }
    SECTION("is one of the executable graph: perhaps of another size") {
        program.make(200, 100);
        program.call("cuGraphExecKernelNodeSetParams", "200", "50", "4");
        program.launch(1, 0);
        CHECK(program.worked_out() == "- | 1/0/1/nodes of a g | -");
    }
    SECTION("is one of the graph before it was made executable") {
        program.call("cuGraphKernelNodeSetParams", "NULL", "50", "4");
        program.make(200, 100);
        program.launch(1, 0);
        CHECK(program.worked_out() == "- | 1/0/1/nodes of a g | -");
    }
    SECTION("is one of the graph afterwards") {
        program.make(200, 100);
        program.call("cuGraphKernelNodeSetParams", "NULL", "50", "4");
        program.launch(1, 0);
        CHECK(program.worked_out() == "0:1*1 | 1/1/1 | ampere_sgemm_128x64_tn*1");
    }
}

TEST_CASE("launches of which products are not known say why", "[graph_products]") {
    Program program;
    SECTION("nobody knows what is run, as with conditional nodes") {
        program.capture(100, {{0}});
        program.make(200, 100);
        program.state(1, 200, {}, false);
        program.launch(1, 0);
        CHECK(program.worked_out() == "- | 1/0/?/a graph does | -");
    }
    SECTION("a kernel of a product is not run, as where its node is off") {
        program.capture(100, {{0, 1}});
        program.make(200, 100);
        program.state(1, 200, {{0, 1}});
        program.launch(1, 0);
        CHECK(program.worked_out() == "- | 1/0/1/a graph does | -");
    }
    SECTION("one of two kernels of one name is not run: which, nobody knows") {
        program.begin();
        program.product({0});
        program.captured(0);
        program.end(100);
        program.make(200, 100);
        program.state(1, 200, {{0, 1}});
        program.launch(1, 0);
        CHECK(program.worked_out() == "- | 1/0/1/a graph does | -");
    }
    SECTION("a kernel has no name") {
        program.capture(100, {{99}});
        program.make(200, 100);
        program.state(1, 200, {{-1, 1}});
        program.launch(1, 0);
        CHECK(program.worked_out() == "- | 1/0/0/kernels of p | -");
    }
    SECTION("it was made before anything was recorded") {
        program.capture(100, {{0}});
        program.state(1, 200, {{0, 4}});
        program.launch(1, 0);
        CHECK(program.worked_out() == "- | 1/0/4/of a graph i | -");
    }
    SECTION("it was made of a graph that was there before anything was recorded") {
        program.capture(100, {{0}});
        program.made.made.run("INSERT INTO handle VALUES (101, 'graph', 1, NULL, NULL, NULL, NULL, NULL)");
        program.make(200, 101);
        program.state(1, 200, {{0, 4}});
        program.launch(1, 0);
        CHECK(program.worked_out() == "- | 1/0/4/of a graph i | -");
    }
}

TEST_CASE("captures near each other, and far", "[graph_products]") {
    for (const int between : {0, 10, 5000}) {
        Program program;
        for (int64_t i = 0; i < 3; ++i) {
            program.begin();
            for (int64_t j = 0; j <= i; ++j) program.product({0});
            program.end(100 + i);
            program.make(200 + i, 100 + i);
            program.state(1 + i, 200 + i, {{0, 1 + i}});
            program.eager_launches(between);
        }
        for (int32_t i = 0; i < 3; ++i) program.launch(1 + i, i);
        INFO(between);
        CHECK(program.worked_out() == "0:1*1 1:2*1 2:3*1 | 1/1/1 1/1/2 1/1/3 | ampere_sgemm_128x64_tn*6");
    }
}

// 2, 4, 8, … of them in each other, as no driver has them.
TEST_CASE("graphs that are deep in each other take no time", "[graph_products]") {
    Program program;
    program.capture(100, {{0}});
    for (int64_t graph = 101; graph < 180; ++graph) {
        program.handle(graph, "NULL");
        program.call("cuGraphCreate", std::to_string(graph));
        for (const char* node : {"1", "2"})
            program.call("cuGraphAddChildGraphNode", std::to_string(graph), std::to_string(graph - 1), node);
    }
    program.make(200, 102);
    program.make(201, 179);
    program.state(1, 200, {{0, 4}});
    program.state(2, 201, {{0, 1000}});
    program.launch(1, 0);
    program.launch(2, 1);
    CHECK(program.worked_out() == "0:4*1 | 1/1/4 1/0/1000/a graph does | ampere_sgemm_128x64_tn*4");
}

// A graph that somebody made by hand has matrix products of which nobody knows: they are not covered.
TEST_CASE("a graph into which no product was captured has none", "[graph_products]") {
    Program program;
    program.capture(100, {{0}});
    program.handle(101, "NULL");
    program.call("cuGraphCreate", "101");
    program.make(200, 101);
    program.state(1, 200, {{2, 3}});
    program.launch(1, 0);
    CHECK(program.worked_out() == "- | 1/1/3 | -");
}

}  // namespace graph_products_test
