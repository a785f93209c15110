#include "shim/timing/known_nodes.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <thread>

#include "plain_ring.h"

namespace known_nodes_test {

using namespace gpushim;
using namespace gpushim::shim;

namespace {

constexpr uint64_t kGraph = 0x10000, kOther = 0x20000, kNode = 0x5000, kFunction = 0xf00;
constexpr HeldByNode kHeld = {GraphNode::kernel, kFunction};
constexpr uint64_t kNothing = ~uint64_t{0};

// Static memory: each case begins without what the one before it knew.
class Nodes {
  public:
    Nodes() : ring_(64) { forget_nodes(); }

    // What it holds; kNothing: it has to be asked for.
    static uint64_t value(uint64_t node = kNode, uint64_t graph = kGraph) {
        uint64_t told = 0, value = 0;
        if (!KnownNodes(graph).find(node, told, value)) return kNothing;
        CHECK((told & kNodeHandle) == node);
        return value;
    }

  private:
    PlainRing ring_;
};

}  // namespace

TEST_CASE("what a call has said of a node is known until somebody may have changed it", "[known_nodes]") {
    const Nodes nodes;
    graph_is_made(kGraph);
    CHECK(Nodes::value() == kNothing);
    node_is_made(kGraph, kNode, kHeld);
    node_is_made(kGraph, kNode + 1, {GraphNode::copy, 0});
    CHECK(Nodes::value() == kFunction);
    CHECK(Nodes::value(kNode + 1) == 0);
    CHECK(Nodes::value(kNode + 2) == kNothing);
    CHECK(Nodes::value(kNode, kOther) == kNothing);
    node_may_change(kNode);
    CHECK(Nodes::value() == kNothing);
    node_is_made(kGraph, kNode, {GraphNode::kernel, 7});
    CHECK(Nodes::value() == 7);
}

TEST_CASE("what is told of a graph whose making was not seen is not believed", "[known_nodes]") {
    const Nodes nodes;
    node_is_made(kGraph, kNode, kHeld);
    CHECK(Nodes::value() == kNothing);
    graph_is_made(kGraph);
    CHECK(Nodes::value() == kNothing);
}

TEST_CASE("a handle that is given out again means another graph", "[known_nodes]") {
    const Nodes nodes;
    graph_is_made(kGraph);
    node_is_made(kGraph, kNode, kHeld);
    SECTION("made once more, its end unseen") { graph_is_made(kGraph); }
    SECTION("gone") {
        graph_is_gone(kGraph);
        CHECK(Nodes::value() == kNothing);
        graph_is_made(kGraph);
    }
    SECTION("gone, nobody says which") {
        graphs_may_be_gone();
        CHECK(Nodes::value() == kNothing);
        graph_is_made(kGraph);
    }
    CHECK(Nodes::value() == kNothing);
    node_is_made(kGraph, kNode, {GraphNode::kernel, 7});
    CHECK(Nodes::value() == 7);
}

// captured a ├──────┤ looks: node 1
// captured b            ├──────┤ looks: the node of nothing, so the last one of `a`
TEST_CASE("the first who says what a node holds is believed", "[known_nodes]") {
    const Nodes nodes;
    graph_is_made(kGraph);
    node_is_made(kGraph, kNode, kHeld);
    node_is_made(kGraph, kNode, {GraphNode::copy, 9});
    CHECK(Nodes::value() == kFunction);
}

TEST_CASE("what one thread has declared gone, no other brings back", "[known_nodes]") {
    const Nodes nodes;
    std::atomic<bool> is_over = false;
    std::thread other([&] {
        while (!is_over) graphs_may_be_gone();
    });
    size_t believed = 0;
    for (int i = 0; i < 2'000'000; ++i) {
        graph_is_made(kGraph);
        node_is_made(kGraph, kNode, kHeld);
        graphs_may_be_gone();
        for (int look = 0; look < 10; ++look) believed += Nodes::value() != kNothing;
    }
    is_over = true;
    other.join();
    CHECK(believed == 0);
}

TEST_CASE("a node that may have changed is not known, whatever other threads tell meanwhile",
          "[known_nodes]") {
    const Nodes nodes;
    std::atomic<bool> is_over = false;
    std::thread other([&] {
        for (uint64_t i = 0; !is_over; ++i) {
            if (i % 1000 == 0) graph_is_made(kOther);
            node_is_made(kOther, kNode + 64 + i % 5000 * 64, {GraphNode::copy, i});
        }
    });
    size_t believed = 0, known = 0;
    for (int i = 0; i < 300'000; ++i) {
        graph_is_made(kGraph);
        node_is_made(kGraph, kNode, kHeld);
        known += Nodes::value() == kFunction;
        node_may_change(kNode);
        believed += Nodes::value() != kNothing;
    }
    is_over = true;
    other.join();
    CHECK(believed == 0);
    CHECK(known > 0);
}

TEST_CASE("nodes are known in whatever order the driver names them", "[known_nodes]") {
    const Nodes nodes;
    constexpr uint64_t kMany = 2000, kApart = 400, kPrime = 997;
    graph_is_made(kGraph);
    graph_is_made(kOther);
    for (uint64_t i = 0; i < kMany; ++i) {
        node_is_made(kGraph, kNode + i * kApart, {GraphNode::kernel, i});
        node_is_made(kOther, kNode * 1000 + i * kApart, {GraphNode::kernel, i + kMany});
    }
    for (uint64_t step : {uint64_t{1}, kMany - 1, kPrime}) {
        KnownNodes known(kGraph), others(kOther);
        size_t right = 0;
        for (uint64_t i = 0, at = kMany / 2; i < kMany; ++i, at = (at + step) % kMany) {
            uint64_t told = 0, value = 0;
            known.will_find(kNode + at * kApart);
            right += known.find(kNode + at * kApart, told, value) && value == at;
            right += others.find(kNode * 1000 + at * kApart, told, value) && value == at + kMany;
            right += !known.find(kNode * 1000 + at * kApart, told, value);
        }
        CHECK(right == 3 * kMany);
    }
}

TEST_CASE("more nodes than there are places for are asked for", "[known_nodes]") {
    const Nodes nodes;
    graph_is_made(kGraph);
    constexpr uint64_t kMany = 200'000, kApart = 176;
    for (uint64_t i = 0; i < kMany; ++i) node_is_made(kGraph, kNode + i * kApart, {GraphNode::kernel, i + 1});
    size_t known = 0;
    for (uint64_t i = 0; i < kMany; ++i) {
        const uint64_t value = Nodes::value(kNode + i * kApart);
        if (value == kNothing) continue;
        REQUIRE(value == i + 1);
        ++known;
    }
    CHECK(known > kToldNodes / 2);
    graph_is_made(kOther);
    size_t of_newest = 0;
    for (uint64_t i = 0; i < 4000; ++i) node_is_made(kOther, kNode * 1000 + i * kApart, kHeld);
    for (uint64_t i = 0; i < 4000; ++i)
        of_newest += Nodes::value(kNode * 1000 + i * kApart, kOther) == kFunction;
    CHECK(of_newest == 4000);
}

}  // namespace known_nodes_test
