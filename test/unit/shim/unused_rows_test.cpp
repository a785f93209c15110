#include "shim/trace/unused_rows.h"

#include "repeats.h"
#include "sized_trace.h"

namespace unused_rows_test {

using namespace trace;

namespace {

// Everything is made anew all the time, lives for 25 s and is used; threads that no longer are do it.
class Restless {
  public:
    Restless(Trace& trace, Events& events) : trace_(trace), events_(events) {}

    void run(int64_t seconds) {
        for (int64_t i = 0; i < seconds * kPerSecond; ++i) {
            step();
            if (i % 100 != 99) continue;
            write_in_the_end(trace_, events_);
            REQUIRE(size_of(trace_) <= 4 * kMegabyte);
        }
    }
    uint64_t calls() const { return calls_; }

  private:
    static constexpr int64_t kPerSecond = 5, kLife = 25 * kPerSecond;

    static uint64_t of(uint64_t kind, int64_t n) { return kind << 40 | static_cast<uint64_t>(n) << 4; }
    void call(const char* name, std::initializer_list<uint64_t> words, const std::string& text = {}) {
        events_.call(name, now_ns_, now_ns_ + 1, words, {.text = text});
        now_ns_ += 2;
        ++calls_;
    }
    void step() {
        const int64_t n = count_++, old = n - kLife;
        now_ns_ = kSecond + n * (kSecond / kPerSecond);
        events_.event(kNoApi, EventKind::thread, now_ns_, now_ns_,
                      {5'000'000, 0, static_cast<uint64_t>(n + 2), 0}, {.thread = 1});
        events_.call("cuStreamCreate", now_ns_ + 1, now_ns_ + 2, {of(1, n), 0, 0});
        ++calls_;
        now_ns_ += 3;
        call("cuModuleLoadData", {of(2, n), 0, 0});
        call("cuModuleGetFunction", {of(3, n), of(2, n), 1}, "kernel " + std::to_string(n % 10));
        call("cuGraphCreate", {of(4, n), 0, 0});
        call("cuGraphInstantiateWithFlags", {of(5, n), of(4, n), 0});
        call("cuLaunchKernel", {of(3, n), of(1, n), kGrid, kBlock});
        if (old < 0) return;
        call("cuLaunchKernel", {of(3, old), of(1, old), kGrid, kBlock});
        call("cuGraphExecDestroy", {of(5, old)});
        call("cuGraphDestroy", {of(4, old)});
        call("cuModuleUnload", {of(2, old)});
        call("cuStreamDestroy_v2", {of(1, old)});
    }

    Trace& trace_;
    Events& events_;
    int64_t count_ = 0;
    int64_t now_ns_ = 0;
    uint64_t calls_ = 0;
};

}  // namespace

TEST_CASE("what only rows that are gone have named goes with them", "[unused_rows][one_thread]") {
    Trace trace(1, 4 * kMegabyte);
    Events events;
    Restless program(trace, events);
    constexpr int64_t kSeconds = repeats(8000, 3000);
    program.run(kSeconds);
    const auto count = [&](const char* table) {
        return std::stoi(trace.ask(std::string("SELECT count(*) FROM ") + table));
    };
    const int handles = count("handle"), shapes = count("shape"), threads = count("thread");
    const int launches = count("launch");
    program.run(kSeconds);
    CHECK(count("handle") < handles * 5 / 4);
    CHECK(count("shape") < shapes * 5 / 4 + 100);
    CHECK(count("thread") < threads * 5 / 4);
    CHECK(count("handle_end") < handles);
    CHECK(count("handle_name") < handles);
    CHECK(count("stream") <= 1024 + handles);
    CHECK(count("launch") > launches * 3 / 4);
    CHECK(count("launch") > 2000);
    const std::string calls = std::to_string(program.calls());
    CHECK(trace.ledger() == calls + "|" + calls + "|0|0|0|0");
    // What is there is named.
    CHECK(trace.ask("SELECT count(*) FROM v_launch WHERE kernel NOT LIKE 'kernel %' OR stream IS NULL") ==
          "0");
    CHECK(
        trace.ask(
            "SELECT count(*) FROM launch WHERE thread_id NOT IN (SELECT id FROM thread) AND thread_id > 1") ==
        "0");
    CHECK(trace.ask("SELECT count(*) FROM call WHERE target_id NOT IN (SELECT id FROM handle)") == "0");
    trace.open();
    program.run(100);
    CHECK(trace.ask("SELECT count(*) FROM v_launch WHERE kernel NOT LIKE 'kernel %' OR stream IS NULL") ==
          "0");
}

TEST_CASE("where recording was switched is kept as often as there is room for", "[unused_rows][one_thread]") {
    Trace trace(1, 4 * kMegabyte);
    Events events;
    for (int64_t i = 0; i < 100'000; ++i) {
        const int64_t ns = kSecond + i * 100'000'000;
        const Marker what = i % 2 == 0 ? Marker::rest : Marker::resume;
        events.event(kNoApi, EventKind::marker, ns, ns, {0, static_cast<uint64_t>(what)});
        if (i % 1000 != 999) continue;
        write_in_the_end(trace, events);
        REQUIRE(size_of(trace) <= 4 * kMegabyte);
    }
    REQUIRE(write_seconds(trace, events, 10'100, 10'400));
    CHECK(trace.ledger() == "400000|400000|0|0|0|0");
    CHECK(
        trace.ask(
            "SELECT count(*) >= 1024, count(*) < 1200 FROM marker JOIN summarised ON enter_ns >= from_ns AND"
            " enter_ns < until_ns") == "1|1");
}

}  // namespace unused_rows_test
