#include "analysis/exporter/counters.h"

#include <string>

#include "catch2/catch.hpp"

namespace counters_test {

using namespace gpushim::analysis;

namespace {

struct Said {
    std::string queue, busy;
    Counters counters{
        [this](int64_t, int64_t stream, int64_t at_ns, int64_t depth) {
            queue += std::to_string(stream) + "@" + std::to_string(at_ns) + "=" + std::to_string(depth) + " ";
        },
        [this](int64_t device, int64_t at_ns, bool is_busy) {
            busy += std::to_string(device) + "@" + std::to_string(at_ns) + (is_busy ? "+ " : "- ");
        }};
};

}  // namespace

//   launches   0  1  2              6
//   stream 1      |──1───||──2──|   (third: stream 2)     |7
//   queue      1  2     .        0
TEST_CASE("a queue holds what was launched and is not over", "[counters]") {
    Said said;
    said.counters.add({0, 1, 0, 10, 40});
    said.counters.add({0, 1, 5, 40, 70});
    said.counters.add({0, 2, 20, 50, 60});
    said.counters.add({0, 1, 45, 70, 90});
    said.counters.finish();
    CHECK(said.queue == "1@0=1 1@5=2 2@20=1 1@40=1 1@45=2 1@70=1 1@90=0 2@60=0 ");
}

//   stream 1   |──────|      |───|
//   stream 2       |─────|              given last, though it ran second
//   busy       +         -   +   -
TEST_CASE("busy is the union, in order of time", "[counters]") {
    Said said;
    said.counters.add({0, 1, 0, 10, 40});
    said.counters.add({0, 1, 1, 80, 90});
    said.counters.add({0, 2, 2, 30, 60});
    said.counters.add({1, 3, 3, 5, 6});
    said.counters.finish();
    CHECK(said.busy == "0@10+ 0@60- 0@80+ 0@90- 1@5+ 1@6- ");
}

TEST_CASE("what ran long ago is said before the end", "[counters]") {
    Said said;
    said.counters.add({0, 1, 0, 10, 40});
    said.counters.add({0, 1, 20'000'000, 20'000'010, 20'000'020});
    said.counters.add({0, 1, 40'000'000, 40'000'010, 40'000'020});
    CHECK(said.busy == "0@10+ 0@40- ");
}

}  // namespace counters_test
