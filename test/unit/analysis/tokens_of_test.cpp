// The calls of a trace as tokens: which of them says something of steps, and of which kind it is.
#include <catch2/catch.hpp>

#include "analysis/run/pass/make_facts.h"
#include "analysis/run/pass/step_tokens.h"
#include "made_trace.h"

namespace tokens_of_test {

using namespace made;

namespace {

// Shapes: 1 a kernel, 2 an optimizer's, 3 one of gradients, 4 the kernel as a node of a graph, 5 a node whose
// kernel has no name, 6 a kernel without one.
Made with_shapes() {
    Made made(2);
    made.run(
        "INSERT INTO api VALUES (2, 'cuMemcpyHtoDAsync_v2', 'cuMemcpyHtoDAsync', 'copy'), (3,"
        " 'cuModuleLoadData', 'cuModuleLoadData', 'born'), (4, 'cuGraphLaunch', 'cuGraphLaunch',"
        " 'graph_launch')");
    made.run("INSERT INTO name VALUES (1, 'layer', NULL), (2, 'multi_tensor_apply_kernel_adam', NULL)");
    made.run("INSERT INTO name VALUES (3, 'layer_backward', NULL)");
    made.run("INSERT INTO handle SELECT id + 10, 'function', id, 0, NULL, NULL, NULL, id FROM name");
    made.run("INSERT INTO handle VALUES (20, 'function', 9, 0, NULL, NULL, NULL, NULL)");
    for (const char* const shape : {"1, 11, 1", "2, 12, 1", "3, 13, 1", "4, 11, 4", "5, 20, 4", "6, 20, 1"})
        made.run("INSERT INTO shape VALUES (" + std::string(shape) +
                 ", 2, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL, NULL)");
    return made;
}

std::vector<Token> tokens_of_launches(Made& made, const std::string& launches) {
    made.run("INSERT INTO launch VALUES " + launches);
    int64_t next_gpu_id = 0;
    const TraceFacts facts = make_facts(made.inputs().traces[0], 0, next_gpu_id, {});
    std::vector<Token> tokens;
    tokens_of(facts)([&](const Token& token) { tokens.push_back(token); });
    return tokens;
}

}  // namespace

TEST_CASE("a kernel is a token that says what its name tells", "[tokens_of]") {
    Made made = with_shapes();
    const auto tokens = tokens_of_launches(
        made,
        "(10, 2, 7, 1, 1, NULL, 0), (20, 2, 7, 2, 2, NULL, 0), (30, 2, 8, 1, 3, NULL, 0), (40, 2, 7, 1, 1, 5,"
        " 0), (50, 2, 7, 1, 6, NULL, 0), (60, 2, 7, 1, 1, NULL, 0)");
    REQUIRE(tokens.size() == 6);
    for (size_t i = 0; i < tokens.size(); ++i) {
        INFO(i);
        CHECK(tokens[i].at_ns == static_cast<int64_t>(10 * (i + 1)));
        CHECK(tokens[i].lane == (i == 1 ? 1 : 0));
        CHECK(tokens[i].thread == (i == 2 ? 8 : 7));
        CHECK(tokens[i].kind == (i == 3 ? TokenKind::collective : TokenKind::kernel));
        CHECK(tokens[i].is_optimizer == (i == 1));
        CHECK(tokens[i].purpose.trains == (i == 2));
        CHECK(tokens[i].blocks == (i == 4 ? 0 : 2));
        CHECK(tokens[i].bytes == -1);
        CHECK(tokens[i].operations == 1);
        CHECK(tokens[i].until_ns == INT64_MAX);
        CHECK(!tokens[i].is_load);
        CHECK((tokens[i].hash == tokens[0].hash) == (i == 0 || i == 3 || i == 5));
    }
    CHECK(tokens[4].name == 0);
}

// The first node of a graph stands for it, whether its kernel has a name or not; what the others are goes
// with the token behind them.
TEST_CASE("nodes of a graph are one token", "[tokens_of]") {
    for (const std::string node : {"4", "5"}) {
        Made made = with_shapes();
        made.run("UPDATE shape SET api_id = 4 WHERE id = 3");
        const auto tokens = tokens_of_launches(
            made, "(10, 2, 7, 1, " + node + ", NULL, 0), (13, 0, 7, 1, 3, NULL, 0), (14, 0, 7, 1, " + node +
                      ", NULL, 0), (20, 2, 7, 1, 1, NULL, 0), (30, 2, 7, 1, 1, NULL, 0)");
        REQUIRE(tokens.size() == 3);
        CHECK(tokens[0].kind == TokenKind::graph);
        CHECK(!tokens[0].purpose.trains);
        CHECK(tokens[1].kind == TokenKind::kernel);
        CHECK(tokens[1].purpose.trains);
        CHECK(!tokens[2].purpose.trains);
    }
}

TEST_CASE("the token behind a load says that there was one", "[tokens_of]") {
    Made made = with_shapes();
    made.run("INSERT INTO call VALUES (15, 2, 7, 3, NULL, NULL, NULL, 0, NULL, NULL)");
    made.run("INSERT INTO copy VALUES (25, 2, 7, 1, 2, 64, 1, 33, NULL, 0)");
    made.sync(26, 28);
    const auto tokens =
        tokens_of_launches(made,
                           "(10, 2, 7, 1, 1, NULL, 0), (20, 2, 7, 1, 1, NULL, 0), (30, 2, 7, 1, 1,"
                           " NULL, 0)");
    REQUIRE(tokens.size() == 5);
    const std::vector<TokenKind> kinds = {TokenKind::kernel, TokenKind::kernel, TokenKind::copy_h2d,
                                          TokenKind::sync, TokenKind::kernel};
    for (size_t i = 0; i < tokens.size(); ++i) {
        CHECK(tokens[i].kind == kinds[i]);
        CHECK(tokens[i].is_load == (i == 1));
    }
    CHECK(tokens[2].bytes == 64);
    CHECK(tokens[3].bytes == 0);
    CHECK(tokens[2].hash != tokens[3].hash);
}

}  // namespace tokens_of_test
