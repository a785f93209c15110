// Slots of kind `gap` into rows of host_gap.
#include "shim/rows/host_samples.h"
#include "trace.h"

namespace translate_host_test {

using namespace trace;

namespace {

constexpr const char* kRows =
    "SELECT enter_ns, dur_ns, thread_id, running_ns, runqueue_ns, class, samples FROM host_gap";

void add_gap(Events& events, int64_t enter_ns, int64_t exit_ns, uint64_t cpu_ns, int64_t beside_ticks,
             int32_t thread = 1) {
    const uint64_t last = api("cuLaunchKernel"), next = api("cuCtxSynchronize");
    events.event(kNoApi, EventKind::gap, enter_ns, exit_ns,
                 {cpu_ns, last, next, static_cast<uint64_t>(beside_ticks)}, {.thread = thread});
}

}  // namespace

TEST_CASE("a gap is a row, and no event of the program's", "[translate_host]") {
    Trace trace;
    Events events;
    events.call("cuCtxSynchronize", 1'000, 2'000, {0});
    add_gap(events, 2'000, 92'000, 31'000, 1'000);
    events.call("cuCtxSynchronize", 92'000, 93'000, {0});
    trace.write(events);
    CHECK(trace.ask(kRows) == "2000|90000|1|30000|-|-|0");
    CHECK(trace.ledger() == "2|2|0|0|0|0");
}

TEST_CASE("what ran beside a gap is measured in its ticks", "[translate_host]") {
    Trace trace;
    Events events;
    add_gap(events, 2'000, 92'000, 50'000, 40'000);
    // Two ticks a nanosecond: 40,000 of them are 20 us.
    Event& fast = events.event(kNoApi, EventKind::gap, 102'000, 192'000, {50'000, 0, 0, 40'000});
    fast.slot.exit = fast.slot.enter + 180'000;
    trace.write(events);
    CHECK(trace.ask("SELECT running_ns FROM host_gap") == "10000 ; 30000");
}

TEST_CASE("a thread runs neither longer than its gap nor less than not at all", "[translate_host]") {
    Trace trace;
    Events events;
    add_gap(events, 2'000, 92'000, 91'000, 0);
    add_gap(events, 102'000, 192'000, 5'000, 6'000);
    add_gap(events, 202'000, 292'000, 5'000, -6'000);
    trace.write(events);
    CHECK(trace.ask("SELECT running_ns FROM host_gap") == "90000 ; 0 ; 11000");
}

TEST_CASE("samples of the thread in the gap say what it waited for", "[translate_host]") {
    host_samples().add(1, {50'000, HostClass::reading, 100});
    host_samples().add(2, {50'000, HostClass::sleeping, 100});
    host_samples().add(1, {60'000, HostClass::reading, 4'100});
    host_samples().add(1, {92'000, HostClass::sleeping, 50'000});
    Trace trace;
    Events events;
    add_gap(events, 2'000, 92'000, 30'000, 0);
    add_gap(events, 2'001, 92'000, 88'999, 0, 2);
    trace.write(events);
    CHECK(trace.ask(kRows) == "2000|90000|1|30000|4000|reading|2 ; 2001|89999|2|88999|-|sleeping|1");
}

TEST_CASE("a thread waits for a processor in what it did not run", "[translate_host][alone]") {
    host_samples().add(1, {50'000, HostClass::running, 100});
    host_samples().add(1, {60'000, HostClass::running, 80'100});
    Trace trace;
    Events events;
    add_gap(events, 2'000, 92'000, 70'000, 0);
    trace.write(events);
    CHECK(trace.ask("SELECT running_ns, runqueue_ns, class FROM host_gap") == "70000|20000|running");
}

}  // namespace translate_host_test
