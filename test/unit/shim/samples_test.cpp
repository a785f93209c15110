#include "shim/trace/samples.h"

#include "shim/trace/rollup_merge.h"
#include "trace.h"

namespace samples_test {

using namespace trace;

namespace {

constexpr int64_t kSecond = 1'000'000'000;

// A sample of each kind every second of [0, until_s), of two devices; the events of [from_s, gone_s) are
// gone.
void sample(Database& base, int64_t until_s, int64_t from_s, int64_t gone_s) {
    base.run("BEGIN");
    const auto each = [&](const char* sql) {
        Statement row = base.prepare(sql);
        for (int64_t second = 0; second < until_s; ++second) row.bind(1, second * kSecond).step();
    };
    each("INSERT INTO clock VALUES (?1, ?1, ?1 + 5)");
    each("INSERT INTO nvml VALUES (?1, 0, 'power_mw', 1), (?1, 0, 'sm_mhz', 2), (?1, 1, 'power_mw', 3)");
    each("INSERT INTO device_clock (mono_ns, context_id, error_ns) VALUES (?1, 1, 7)");
    each("INSERT INTO cost VALUES (?1, 1000000000, 10, 20, 30, 40, 50, 60, 70)");
    each(
        "INSERT INTO \"window\" VALUES (?1, 0, 1000, ?1 / 10000000000, 2000, 9, 8, 1, 3),"
        " (?1 + 5, 1, 1000, ?1 / 10000000000, 2000, 4, 4, 0, 1)");
    Statement gone = base.prepare("INSERT INTO summarised VALUES (?, ?, 0, 0, 0)");
    gone.bind(1, from_s * kSecond).bind(2, gone_s * kSecond).step();
    base.run("COMMIT");
}

const char* const kCounts =
    "SELECT (SELECT count(*) FROM clock), (SELECT count(*) FROM nvml), (SELECT count(*) FROM device_clock),"
    " (SELECT count(*) FROM cost), (SELECT count(*) FROM \"window\")";
const char* const kSums =
    "SELECT sum(span_ns), sum(events), sum(hook_ns), sum(writer_cpu_ns),"
    " (SELECT sum(dur_ns) || ' ' || sum(operations) || ' ' || sum(timed) || ' ' || sum(own_host_ns)"
    "  FROM \"window\") FROM cost";

}  // namespace

TEST_CASE("of a span whose events are gone one sample of each kind stays, and all sums", "[samples]") {
    Trace trace;
    trace.close();
    {
        Database base(trace.path(), Database::Open::write);
        sample(base, 100, 20, 50);
        CHECK(trace.ask(kCounts) == "100|300|100|100|200");
        const std::string sums = trace.ask(kSums);
        Samples samples(base);
        samples.thin_what_is_gone(10 * kSecond, 30 * kSecond);
        // Of the ten seconds that are gone: one reading, of device 0 with both of its keys.
        CHECK(trace.ask(kCounts) == "91|273|91|91|182");
        samples.thin(50 * kSecond, 60 * kSecond, false);
        CHECK(trace.ask(kCounts) == "82|243|81|82|164");
        CHECK(trace.ask(kSums) == sums);
    }
    CHECK(trace.ask("SELECT enter_ns, slot, dur_ns FROM \"window\" WHERE device_id = 0 AND"
                    " enter_ns BETWEEN 19000000000 AND 31000000000") ==
          "19000000000|1|1000 ; 20000000000|-|10000 ; 30000000000|3|1000 ; 31000000000|3|1000");
}

TEST_CASE("samples become fewer with the spans of the totals", "[samples]") {
    Trace trace;
    Events events;
    for (int64_t second = 0; second < 3600; ++second) {
        events.call("cuInit", second * kSecond + 1, second * kSecond + 2, {});
        if (second % 1000 == 999) trace.write(events);
    }
    trace.write(events);
    trace.close();
    Database base(trace.path(), Database::Open::write);
    base.run("DELETE FROM cost");
    sample(base, 3600, 0, 3500);
    const std::string sums = trace.ask(kSums);
    Samples samples(base);
    RollupMerge merge(base, samples);
    base.begin(false);
    while (merge.merge_some(50)) continue;
    base.commit();
    CHECK(samples.count() < 1500);
    CHECK(samples.count() > 800);  // those of the last 100 s, whose events are there, and one of each span
    CHECK(trace.ask(kSums) == sums);
}

}  // namespace samples_test
