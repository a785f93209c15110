#include "engine/host_function.h"

#include <pthread.h>

#include <atomic>
#include <string>

#include "box.h"
#include "streams.h"

namespace host_function_test {

using namespace gpusim;

namespace {

constexpr Ns kUs = 1000;

}  // namespace

TEST_CASE("a host function runs on a thread of the box, in its stream's order", "[host_function]") {
    Stream a;
    std::string seen;
    std::string thread;
    a.add("h2d", 10 * kUs, [&] { seen += "a"; });
    a.add(told_operation(host_function([&] {
        char name[16];
        pthread_getname_np(pthread_self(), name, sizeof name);
        thread = name;
        seen += "b";
    })));
    a.add("h2d", 10 * kUs, [&] { seen += "c"; });
    a.add(told_operation(host_function([&] { seen += "d"; })));
    a.wait();
    CHECK(seen == "abcd");
    CHECK(thread == "gpusim-callback");
}

TEST_CASE("a host function starts when its turn comes, and the stream goes on when it returns",
          "[host_function]") {
    Stream a;
    const Ns turn = a.add("kernel", 2'000 * kUs).end_ns;
    std::atomic<Ns> began{0}, ended{0};
    a.add(told_operation(host_function([&] {
        began = clock::now();
        gpusim_advance_ns(1'000'000);
        ended = clock::now();
    })));
    a.add("kernel", 10 * kUs);
    a.wait();
    CHECK(began >= turn);
    CHECK(ended - began >= 1'000 * kUs);
    CHECK(a.tail.end_ns >= ended + 10 * kUs);
}

TEST_CASE("in stepped time a host function lasts as long as it advances the clock", "[host_function]") {
    ::box::knobs("GPUSIM_CLOCK=stepped");
    Stream a, b;
    const Ns now = clock::now();
    a.add("kernel", 10 * kUs);
    a.add(told_operation(host_function([] { gpusim_advance_ns(3'000); })));
    a.add("kernel", 5 * kUs);
    b.add(told_operation(host_function([] {})));
    a.wait();
    CHECK(clock::now() == now + 18 * kUs);
    b.wait();
    CHECK(b.tail.end_ns == now);
}

TEST_CASE("a host function may give a stream more to do", "[host_function]") {
    ::box::knobs("GPUSIM_CLOCK=stepped");
    Stream a, b;
    const Ns now = clock::now();
    a.add("kernel", 10 * kUs);
    a.add(told_operation(host_function([&] {
        Operation op;
        op.op = "kernel";
        op.earliest_ns = now + 10 * kUs;
        op.duration_ns = 7 * kUs;
        b.add(op);
    })));
    a.wait();
    b.wait();
    CHECK(clock::now() == now + 17 * kUs);
}

}  // namespace host_function_test
