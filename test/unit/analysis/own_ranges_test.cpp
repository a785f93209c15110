// The program's own ranges, as its threads went through them.
#include "analysis/run/busy/own_ranges.h"

#include "analysis/run/pass/facts.h"
#include "made_trace.h"

#include <catch2/catch.hpp>
#include <map>
#include <utility>

namespace own_ranges_test {

using namespace made;

namespace {

struct Scene {
    Made made;
    TraceFacts facts = {};
    std::map<std::string, int> names;

    std::string id_of(const std::string& name) {
        if (name.empty()) return "NULL";
        const auto [found, is_new] = names.try_emplace(name, static_cast<int>(names.size()) + 100);
        if (is_new)
            made.run("INSERT INTO name VALUES (" + std::to_string(found->second) + ", '" + name + "', NULL)");
        return std::to_string(found->second);
    }
    Scene& mark(int64_t at_ns, const char* kind, const std::string& name, int thread = 1,
                const std::string& domain = "") {
        made.run("INSERT INTO marker (enter_ns, thread_id, kind, domain_id, name_id) VALUES (" +
                 std::to_string(at_ns) + ", " + std::to_string(thread) + ", '" + kind + "', " +
                 id_of(domain) + ", " + id_of(name) + ")");
        return *this;
    }
    Scene& push(int64_t at_ns, const std::string& name, int thread = 1, const std::string& domain = "") {
        return mark(at_ns, "push", name, thread, domain);
    }
    Scene& pop(int64_t at_ns, const std::string& name, int thread = 1, const std::string& domain = "") {
        return mark(at_ns, "pop", name, thread, domain);
    }
    OwnRanges ranges(int64_t until_ns = INT64_MAX) {
        OwnRanges all(&made.inputs().traces[0]);
        all.read_until(until_ns);
        return all;
    }
};

// "name until"; "-": in none.
std::string at(const OwnRanges& ranges, int64_t t_ns, int64_t thread = 1) {
    const RangeHere here = ranges.at(thread, t_ns, 0);
    const std::string until = here.until_ns == INT64_MAX ? "open" : std::to_string(here.until_ns);
    if (here.range == kNotSampled) return "- " + until;
    return ranges.names()[static_cast<size_t>(here.range)].name.value_or("none") + " " + until;
}

}  // namespace

//  |10 epoch ─────────────────────────────── 90|
//         |20 log 40|      |60 data 80|
TEST_CASE("the innermost range at a moment", "[own_ranges]") {
    Scene scene;
    scene.push(10, "epoch").push(20, "log").pop(40, "log").push(60, "data").pop(80, "data").pop(90, "epoch");
    const OwnRanges ranges = scene.ranges();
    REQUIRE(ranges.are_recorded());
    CHECK(at(ranges, 0) == "- 10");
    CHECK(at(ranges, 10) == "epoch 20");
    CHECK(at(ranges, 39) == "log 40");
    CHECK(at(ranges, 40) == "epoch 60");
    CHECK(at(ranges, 79) == "data 80");
    CHECK(at(ranges, 90) == "- open");
}

TEST_CASE("a range that has not ended is open, and what is not read yet is not there", "[own_ranges]") {
    Scene scene;
    scene.push(10, "epoch").push(20, "log").pop(40, "log");
    CHECK(at(scene.ranges(), 50) == "epoch open");
    CHECK(at(scene.ranges(30), 50) == "log open");
}

TEST_CASE("of ranges that never end the newest are open", "[own_ranges]") {
    Scene scene;
    for (int64_t i = 0; i < 2000; ++i) scene.push(10 + i, i == 0 ? "first" : "again");
    scene.push(3000, "last").pop(3010, "first").pop(3020, "last");
    CHECK(at(scene.ranges(), 3015) == "last 3020");
    CHECK(at(scene.ranges(), 3025) == "again open");
    CHECK(at(scene.ranges(), 10) == "first 11");
}

//  |10 ProfilerStep#3 ─────────── 50|     and no ranges of thread 2's beside thread 1's
//         |20 log 40|
TEST_CASE("a profiler's mark of a step is no range of the program", "[own_ranges]") {
    Scene scene;
    scene.push(10, "ProfilerStep#3").push(15, "ProfilerStep#3", 2).push(20, "log").pop(40, "log");
    scene.pop(50, "ProfilerStep#3").pop(55, "ProfilerStep#3", 2);
    const OwnRanges ranges = scene.ranges();
    CHECK(at(ranges, 12) == "- 20");
    CHECK(at(ranges, 30) == "log 40");
    CHECK(at(ranges, 45) == "- open");
    CHECK(at(ranges, 30, 2) == "log 40");
}

//  |10 a (of one domain) ── 30|
//         |20 b (of another) ────── 40|
TEST_CASE("ranges of two domains may overlap", "[own_ranges]") {
    Scene scene;
    scene.push(10, "a", 1, "x").push(20, "b", 1, "y").pop(30, "a", 1, "x").pop(40, "b", 1, "y");
    const OwnRanges ranges = scene.ranges();
    CHECK(at(ranges, 15) == "a 20");
    CHECK(at(ranges, 25) == "b 30");
    CHECK(at(ranges, 35) == "b 40");
    CHECK(ranges.names()[0].domain == "x");
}

TEST_CASE("a pop of nothing, and one without a push, end nothing", "[own_ranges]") {
    Scene scene;
    scene.pop(5, "epoch").push(10, "epoch").pop(20, "other");
    CHECK(at(scene.ranges(), 30) == "epoch open");
}

TEST_CASE("where one thread alone makes ranges, they are all threads'", "[own_ranges]") {
    Scene scene;
    scene.push(10, "backward");
    CHECK(at(scene.ranges(), 20, 2) == "backward open");
    scene.push(15, "loader", 3);
    CHECK(at(scene.ranges(), 20, 2) == "- open");
    CHECK(at(scene.ranges(), 20, 3) == "loader open");
}

//  |10 validation ──────────────── 90|      what it calls is its own; a loader within it loads
//     |20 inner 30|  |40 data 50|
TEST_CASE("what a name tells holds for what is inside", "[own_ranges]") {
    Scene scene;
    scene.push(10, "validation").push(20, "inner").pop(30, "inner").push(40, "data").pop(50, "data");
    scene.pop(90, "validation").push(100, "Optimizer.step").push(110, "closure");
    const OwnRanges ranges = scene.ranges();
    CHECK(ranges.at(1, 25, 30).does == PythonDoes::calls_back);
    CHECK(ranges.at(1, 45, 30).does == PythonDoes::loads);
    CHECK(ranges.at(1, 105, 30).does == PythonDoes::optimizes);
    CHECK(ranges.at(1, 115, 30).does == PythonDoes::untold);
    Scene loader;
    loader.push(10, "data").push(20, "save").pop(30, "save");  // into its cache
    CHECK(loader.ranges().at(1, 25, 30).does == PythonDoes::loads);
    const auto over_by = [&](int64_t t_ns, int64_t launch_ns) {
        const RangeHere here = ranges.at(1, t_ns, launch_ns);
        return std::pair(here.is_over, here.told_is_over);
    };
    CHECK(over_by(25, 29) == std::pair(false, false));
    CHECK(over_by(25, 30) == std::pair(true, false));
    CHECK(over_by(25, 90) == std::pair(true, true));
    CHECK(over_by(45, 50) == std::pair(true, true));
}

TEST_CASE("what is forgotten is in no range", "[own_ranges]") {
    Scene scene;
    scene.push(10, "epoch").push(20, "log").pop(40, "log").push(60, "log").pop(80, "log");
    OwnRanges ranges = scene.ranges();
    ranges.forget_before(50);
    CHECK(at(ranges, 25) == "- 40");
    CHECK(at(ranges, 45) == "epoch 60");
}

TEST_CASE("a program that names each range otherwise", "[own_ranges]") {
    Scene scene;
    scene.made.run("BEGIN");
    for (int i = 0; i < 10'100; ++i) {
        const std::string name = "step " + std::to_string(i);
        scene.push(10 * i, name).pop(10 * i + 5, name);
    }
    scene.made.run("COMMIT");
    const OwnRanges ranges = scene.ranges();
    CHECK(ranges.names().size() == 10'001);
    CHECK(at(ranges, 99'991) == "step 9999 99995");
    CHECK(at(ranges, 100'501) == "none 100505");
}

}  // namespace own_ranges_test
