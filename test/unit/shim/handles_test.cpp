#include "shim/rows/handles.h"

#include <time.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <limits>

#include "shim/base/system.h"

namespace handles_test {

using namespace gpushim::shim;

namespace {

constexpr uint64_t kHandle = 0x5000;

struct Objects {
    Tables tables;
    Handles handles{tables};
};

}  // namespace

TEST_CASE("a life lasts from its birth to the moment before its end", "[handles]") {
    Objects o;
    Life& life = o.handles.born(Object::stream, kHandle, 10);
    o.handles.died(life, 20);
    CHECK(o.handles.find(Object::stream, kHandle, 9) == nullptr);
    CHECK(o.handles.find(Object::stream, kHandle, 10) == &life);
    CHECK(o.handles.find(Object::stream, kHandle, 19) == &life);
    CHECK(o.handles.find(Object::stream, kHandle, 20) == nullptr);
}

TEST_CASE("the same value means different objects of different kinds", "[handles]") {
    Objects o;
    Life& stream = o.handles.born(Object::stream, kHandle, 10);
    Life& event = o.handles.born(Object::event, kHandle, 11);
    CHECK(o.handles.find(Object::stream, kHandle, 15) == &stream);
    CHECK(o.handles.find(Object::event, kHandle, 15) == &event);
    CHECK(o.handles.find(Object::graph, kHandle, 15) == nullptr);
}

TEST_CASE("a kernel's handle serves as a function's", "[handles]") {
    Objects o;
    Life& kernel = o.handles.born(Object::kernel, kHandle, 10);
    CHECK(o.handles.find(Object::function, kHandle, 15) == &kernel);
}

TEST_CASE("lives that are told in the wrong order are found at their time", "[handles]") {
    Objects o;
    Life& second = o.handles.born(Object::stream, kHandle, 100);
    Life& first = o.handles.at(Object::stream, kHandle, 50);
    CHECK(&first != &second);
    CHECK(o.handles.find(Object::stream, kHandle, 60) == &first);
    CHECK(o.handles.find(Object::stream, kHandle, 100) == &second);
}

TEST_CASE("a birth ends whoever had the handle", "[handles]") {
    Objects o;
    Life& first = o.handles.born(Object::stream, kHandle, 10);
    o.handles.born(Object::stream, kHandle, 30);
    CHECK(first.died_ns == 30);
}

TEST_CASE("what lives in an object ends with it", "[handles]") {
    Objects o;
    Life& library = o.handles.born(Object::library, 1, 1);
    Life& module = o.handles.born(Object::module, 2, 2);
    Life& function = o.handles.born(Object::function, 3, 3);
    o.handles.lives_in(module, library);
    o.handles.lives_in(function, module);
    o.handles.died(library, 40);
    CHECK(module.died_ns == 40);
    CHECK(function.died_ns == 40);
}

TEST_CASE("what ended long ago takes no memory", "[handles]") {
    Objects o;
    for (int64_t t = 0; t < 10'000; ++t) {
        Life& home = o.handles.born(Object::module, kHandle, 10 * t);
        Life& inside = o.handles.born(Object::function, kHandle, 10 * t);
        o.handles.lives_in(inside, home);
        o.handles.died(home, 10 * t + 5);
        if (t % 100 != 0) continue;
        o.handles.add_rows();
        o.tables.clear();
        o.handles.forget_before(10 * t - 100);
    }
    CHECK(o.handles.remembered() < 500);
}

// Of this thread's own time: whoever else is on the machine does not count.
int64_t forgetting_takes_ns(int64_t lives) {
    int64_t least_ns = std::numeric_limits<int64_t>::max();
    for (int turn = 0; turn < 3; ++turn) {
        Objects o;
        Life& home = o.handles.born(Object::context, kHandle, 1);
        for (int64_t at = 10; at < 10 * lives; at += 10) {
            Life& life = o.handles.born(Object::module, kHandle, at);
            o.handles.lives_in(life, home);
            o.handles.died(life, at + 5);
        }
        const int64_t before_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
        for (int64_t at = 10; at < 10 * lives; at += 10) o.handles.forget_before(at);
        least_ns = std::min(least_ns, clock_ns(CLOCK_THREAD_CPUTIME_ID) - before_ns);
    }
    return least_ns;
}

// A program that loads and unloads modules all the time has a hundred thousand lives of a handle in ten
// seconds.
TEST_CASE("what is forgotten costs the same however many had its handle and home", "[handles]") {
    constexpr int64_t kLives = 1'000, kTimes = 16;
    CHECK(forgetting_takes_ns(kTimes * kLives) < 4 * kTimes * forgetting_takes_ns(kLives));
}

}  // namespace handles_test
