// What the reader makes of traces that are cut off, damaged, made to hurt, or none at all.
#include <catch2/catch.hpp>
#include <fstream>
#include <random>

#include "analysis/failure.h"
#include "kineto_made.h"
#include "repeats.h"
#include "shim/base/sanitized.h"

namespace kineto_hostile_test {

using namespace made;
using Names = std::vector<std::string>;

namespace {

// The most memory since the last look.
int64_t peak_kb() {
    int64_t kb = 0;
    std::ifstream status("/proc/self/status");
    for (std::string word; status >> word;)
        if (word == "VmHWM:") status >> kb;
    std::ofstream("/proc/self/clear_refs") << 5;
    return kb;
}

std::string why_not(const std::string& content) {
    try {
        read(content);
    } catch (const Failure& failure) {
        return failure.what();
    }
    return "";
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("a trace that breaks off counts up to there, wherever that is", "[kineto]") {
    const std::string trace = with_events(kernel("a") + ",\n" + kernel("b"));
    const size_t list = trace.find('[') + 1, a = trace.find("},") + 1, b = trace.rfind("}]") + 1;
    for (size_t length = list; length < trace.size(); ++length) {
        INFO(trace.substr(0, length));
        const Read got = read(trace.substr(0, length));
        CHECK(got.events.size() == (length < a ? 0u : length < b ? 1u : 2u));
        CHECK(got.summary.end == KinetoEnd::broken_off);
        CHECK(has(got.summary.end_note, "breaks off at byte " + std::to_string(length)));
        CHECK(got.summary.of(KinetoSkip::malformed) == 0);
    }
}

TEST_CASE("a head across blocks is read once, and one that breaks off counts up to there", "[kineto]") {
    std::string devices;
    for (int i = 0; i < 40'000; ++i) devices += R"({"id": )" + std::to_string(i) + R"(, "name": 7},)";
    const std::string trace = "{\"traceEvents\": [], \"deviceProperties\": [" + devices;
    const KinetoHead whole = read(trace + "]}").summary.head;
    CHECK(whole.devices.size() == 1024);
    CHECK(whole.values_ignored == 40'000 + 40'000 - 1024);  // names that are none; devices too many
    CHECK((whole.devices[0].id == 0 && whole.devices[1023].id == 1023));
    const KinetoSummary cut = read(trace).summary;
    CHECK((cut.head.devices.size() == 1024 && cut.end == KinetoEnd::broken_off));
}

TEST_CASE("gzip that breaks off or is damaged counts up to there", "[kineto]") {
    std::string elements;
    for (int i = 0; i < 20'000; ++i) elements += kernel("k" + std::to_string(i * 7919 % 10007)) + ",\n";
    const std::string packed = gzip(with_events(elements));
    REQUIRE(packed.size() > 50'000);

    const Read cut = read(packed.substr(0, packed.size() / 2));
    CHECK((cut.events.size() > 5'000 && cut.events.size() < 15'000));
    CHECK(cut.summary.end == KinetoEnd::broken_off);
    CHECK(has(cut.summary.end_note, "gzip breaks off after " + std::to_string(packed.size() / 2) + " bytes"));

    std::string damaged = packed;
    for (size_t i = 0; i < 64; ++i) damaged[damaged.size() / 2 + i] = '\xff';
    const Read rest = read(damaged);
    CHECK(rest.events.size() > 5'000);
    CHECK(rest.summary.end == KinetoEnd::damaged);
    CHECK(has(rest.summary.end_note, "gzip is damaged"));

    std::string wrong_sum = packed;
    wrong_sum[wrong_sum.size() - 6] ^= 1;
    const Read all = read(wrong_sum);
    CHECK(all.events.size() == 20'000);
    CHECK(all.summary.end == KinetoEnd::damaged);
}

TEST_CASE("what is no trace is one Failure that says why", "[kineto]") {
    CHECK(has(why_not(""), "empty"));
    CHECK(has(why_not(" \r\n"), "empty"));
    CHECK(has(why_not("SQLite format 3"), "not JSON"));
    CHECK(has(why_not("{this is not JSON"), "not JSON"));
    CHECK(has(why_not("{}"), "no list traceEvents"));
    CHECK(has(why_not(R"({"traceEvents": {"a": 1}})"), "no list traceEvents"));
    CHECK(has(why_not(R"({"traceEvents": null})"), "no list traceEvents"));
    CHECK(has(why_not(R"({"schemaVersion": 1, "dev)"), "breaks off at byte 25"));
    CHECK(has(why_not("\x1f\x8b no gzip behind the magic"), "gzip is damaged"));
    CHECK(has(why_not(std::string(1000, '\0')), "not JSON"));
    CHECK_THROWS_AS(read_kineto("/does/not/exist", {}, {}), Failure);
    CHECK_THROWS_AS(read_kineto("/", {}, {}), Failure);
}

TEST_CASE("byte order mark, CRLF, and what stands behind the end", "[kineto]") {
    CHECK(names(read("\xEF\xBB\xBF\r\n{\r\n\"traceEvents\":\r\n[\r\n" + kernel("a") + "\r\n]\r\n}\r\n")) ==
          Names{"a"});
    const Read twice = read(with_events(kernel("a")) + with_events(kernel("b")));
    CHECK(names(twice) == Names{"a"});
    CHECK(twice.summary.end == KinetoEnd::damaged);
    CHECK(has(twice.summary.end_note, "follows the end"));
}

TEST_CASE("a damaged element costs itself, not its neighbours", "[kineto]") {
    const std::string good = kernel("c") + ",\n" + kernel("d");
    for (const std::string& bad : std::vector<std::string>{
             R"({"ph": "X", "cat" "kernel"})",                                   // no colon
             R"({"ph": "X", "name": "un"quoted", "ts": 1})",                     // a quote too many
             R"({"ph": "X", "name": "open, "ts": 1, "args": {"a": "b"}})",       // a quote missing
             R"({"ph": "X", "args": {"grid": [1, 1}, "ts": 1})",                 // the wrong bracket
             R"({"ph": "X", "args": {"grid": [1, 1], "ts": 1)",                  // no bracket at all
             R"({"ph": "X", "ts": )" + std::string(3, '\0') + R"("dur": 1 : })"  // overwritten
         }) {
        INFO(bad);
        const Read got = read(with_events(kernel("a") + ",\n" + bad + ",\n" + good));
        CHECK(names(got) == Names{"a", "c", "d"});
        CHECK(got.summary.of(KinetoSkip::malformed) == 1);
        CHECK(got.summary.end == KinetoEnd::whole);
    }
}

TEST_CASE("elements that are no objects, and stray brackets", "[kineto]") {
    const Read got =
        read(with_events("1, null, \"text\", [[]], " + kernel("a") + "}, NaN," + kernel("b") + ",,"));
    CHECK(names(got) == Names{"a", "b"});
    CHECK(got.summary.of(KinetoSkip::not_an_object) == 5);
    CHECK(got.summary.of(KinetoSkip::malformed) == 1);
}

TEST_CASE("wrong types leave a field absent and are counted", "[kineto]") {
    const Read got = read(with_events(
        R"({"ph":"X","cat":"kernel","name":{"a":1},"pid":"Spans","tid":[7],"ts":"12.5","dur":"1","args":{
        "stream":"seven","device":{"id":0},"correlation":NaN,"grid":[1,2],"block":"1","context":"3",
        "est. achieved occupancy %":-Infinity,"bytes":1e400,"registers per thread":null,
        "Collective name":7}},)" +
        kernel("b")));
    REQUIRE(got.events.size() == 2);
    const KinetoEvent& event = got.events[0].event;
    CHECK(got.events[0].name.empty());
    CHECK_FALSE((event.pid || event.tid || event.stream || event.device || event.correlation || event.grid ||
                 event.block || event.occupancy_percent || event.bytes || event.registers_per_thread));
    CHECK(event.context == 3);  // a number in quotes is one
    CHECK((event.start_ns == 12500 && event.duration_ns == 1000));
    CHECK(got.summary.values_ignored == 10);
    CHECK(got.summary.of(KinetoKind::kernel) == 2);

    const KinetoSummary head =
        read(R"({"schemaVersion": [], "distributedInfo": [1], "deviceProperties": [7, {}],
        "with_flops": "perhaps", "traceEvents": []})")
            .summary;
    CHECK(head.head.values_ignored == 4);
    CHECK(head.head.devices.size() == 1);
    CHECK(head.end == KinetoEnd::whole);
}

TEST_CASE("times that are none or beyond an integer skip the element", "[kineto]") {
    const auto times = [](const std::string& members) {
        return read(with_events(R"({"ph":"X","cat":"kernel","name":"k",)" + members + "}," + kernel("b")))
            .summary;
    };
    CHECK(times(R"("dur":1)").of(KinetoSkip::bad_time) == 1);
    CHECK(times(R"("ts":NaN,"dur":1)").of(KinetoSkip::bad_time) == 1);
    CHECK(times(R"("ts":1e300,"dur":1)").of(KinetoSkip::bad_time) == 1);
    CHECK(times(R"("ts":1)").of(KinetoSkip::bad_duration) == 1);
    CHECK(times(R"("ts":1,"dur":-1)").of(KinetoSkip::bad_duration) == 1);
    CHECK(times(R"("ts":9223372036854775,"dur":9223372036854775)").of(KinetoSkip::bad_duration) == 1);
    const KinetoSummary empty = times(R"("ts":7,"dur":0)");
    CHECK(empty.of(KinetoKind::kernel) == 2);
    CHECK((empty.first_start_ns == 5000 && empty.last_end_ns == 6000));  // of what lasts
}

TEST_CASE("of keys that come twice the last one counts", "[kineto]") {
    const Read got =
        read(R"({"schemaVersion": 1, "schemaVersion": 2, "deviceProperties": [{}, {}],
        "deviceProperties": [{"id": 3}], "traceEvents": [)" +
             kernel("a") +
             R"(], "traceEvents": [{"ph":"M","ph":"X","cat":"kernel","name":"x","name":"b","ts":1,)" +
             R"("ts":2,"dur":1,"args":{"stream":1},"args":{"stream":2}}]})");
    CHECK(got.summary.head.schema_version == 2);
    CHECK(got.summary.head.devices.size() == 1);
    REQUIRE(names(got) == Names{"a", "b"});  // but a second list of events is read as well
    CHECK((got.events[1].event.start_ns == 2000 && got.events[1].event.stream == 2));
}

#if UNDER_ADDRESS_SANITIZER || UNDER_THREAD_SANITIZER
constexpr int64_t kMostKb = 256'000;  // most of it is theirs
#else
constexpr int64_t kMostKb = 32'000;
#endif

TEST_CASE("huge strings, deep nesting and gzip that unpacks far need no memory", "[kineto]") {
    // From 64 MiB on, gzip that grows so much is refused.
    constexpr size_t kHuge = repeats<size_t>(48, 8) << 20;
    const auto huge = [&](const std::string& open, const std::string& fill, const std::string& close) {
        return gzip(open, fill, kHuge / fill.size(), close);
    };
    const std::string spaces(1 << 16, ' '), b = kernel("b");
    const std::string name = huge(R"([{"ph":"X","cat":"kernel","name":")", R"(\"}],{)", "\"}," + b + "]");
    const std::string deep = huge(R"([{"ph":"X","args":{"a":)", R"([{"b":)", b);
    const std::string bomb = huge("{\"traceName\": \"", spaces, "\", \"traceEvents\": [" + b + "]}");
    const std::string wild = huge("[{x", "{x", "," + b + "]");
    const std::string key = huge("{\"", spaces, "\": 1, \"traceEvents\": [" + b + "]}");
    peak_kb();
    const int64_t before_kb = peak_kb();

    const Read named = read(name);
    CHECK(names(named) == Names{"b"});
    CHECK(named.summary.of(KinetoSkip::too_large) == 1);
    CHECK(read(deep).summary.of(KinetoSkip::too_large) == 1);
    CHECK(names(read(bomb)) == Names{"b"});
    CHECK(names(read(wild)) == Names{"b"});
    CHECK(has(why_not(key), "not JSON"));
    CHECK(peak_kb() - before_kb < kMostKb);
}

TEST_CASE("many categories, and long ones, are counted together", "[kineto]") {
    std::string elements = R"({"ph":"X","cat":")" + std::string(1000, 'c') + R"(","ts":1,"dur":1})";
    for (int i = 0; i < 500; ++i)
        elements += R"(,{"ph":"X","cat":"c)" + std::to_string(i) + R"(","ts":1,"dur":1})";
    const KinetoSummary got = read(with_events(elements)).summary;
    CHECK(got.by_category.size() == 64);
    CHECK(got.by_category.at("(others)") == 1 + 500 - 63);
}

// Any bytes changed, in any place: the reader comes to an end, and throws nothing but a Failure.
TEST_CASE("random damage", "[kineto]") {
    std::mt19937_64 random(5);
    std::string elements;
    for (int i = 0; i < 20; ++i) elements += kernel("k" + std::to_string(i)) + ",\n";
    const std::string trace = with_events(elements);
    constexpr std::string_view kSharp = "\"\\{}[],: \n\0u1e-";
    size_t survivors = 0;
    for (int i = 0; i < 500; ++i) {
        std::string hurt = trace;
        const size_t at = random() % hurt.size();
        hurt[at] = random() % 4 == 0 ? static_cast<char>(random()) : kSharp[random() % kSharp.size()];
        if (random() % 3 == 0) hurt.erase(random() % hurt.size(), random() % 30);
        try {
            survivors += read(hurt).events.size();
        } catch (const Failure&) {  // the list's own beginning was hit
        }
    }
    CHECK(survivors > 500 * 20 * 8 / 10);
}

}  // namespace kineto_hostile_test
