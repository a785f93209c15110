// Random timelines of two GPUs: what the sweep writes against unions made by SQL from the operations as they
// are.
#include "busy_scene.h"

#include <catch2/catch.hpp>
#include <random>

namespace busy_random_test {

using namespace busy_scene;

namespace {

constexpr int kStreams = 3, kGpus = 2;

struct Made {
    std::vector<Call> calls;
    TimedPiece piece;
};

class Maker {
  public:
    explicit Maker(uint64_t seed) : random_(seed) {}

    Made make(int count) {
        Made made;
        std::vector<int64_t> ends(kGpus * kStreams, 0);
        int64_t t = 0;
        for (int i = 0; i < count; ++i, t += 1 + below(below(6) == 0 ? 90 : 6))
            made.calls.push_back(below(10) == 0 ? host_call(t) : operation(t, ends));
        const Interval known = {20 + below(50), t - below(50)};
        made.piece = piece_of({known, {known.start_ns + below(30), known.end_ns - below(30)}});
        for (int64_t at = known.start_ns + 30 + below(60); at < known.end_ns - 300;) {
            const int64_t until = at + 1 + below(250);
            made.piece.steps.push_back({static_cast<int32_t>(made.piece.steps.size()), {at, until}});
            at = until + (below(2) == 0 ? 0 : below(40));
        }
        return made;
    }

  private:
    int64_t below(int64_t n) { return static_cast<int64_t>(random_() % static_cast<uint64_t>(n)); }
    Call host_call(int64_t t) {
        Call call =
            other(below(2) == 0 ? CallKind::sync : CallKind::host_gap, kNoLane, kNoTarget, t, t + below(40));
        call.detail = below(30);
        return call;
    }
    Call operation(int64_t t, std::vector<int64_t>& ends) {
        const auto lane = static_cast<int32_t>(below(kGpus * kStreams));
        int64_t& end = ends[static_cast<size_t>(lane)];
        int64_t start = t + below(12);
        // Nearly always in order, as it is in a stream.
        if (below(20) != 0) start = std::max(start, end + below(3));
        const int64_t duration = below(30) == 0 ? 0 : 1 + below(below(8) == 0 ? 120 : 12);
        Call call = ran(launch(lane, t, t + below(5)), start, start + duration);
        call.times.start_low_ns = std::max(t, start - below(6));
        call.times.start_high_ns += below(6);
        call.times.end_low_ns -= below(6);
        call.times.end_high_ns += below(6);
        call.times.likely_ns = below(3) * 2;
        end = std::max(end, start + duration);
        return typed(call, static_cast<OperationClass>(below(9)), below(3) == 0 ? below(40) : kNotRecorded);
    }
    std::mt19937_64 random_;
};

void write(Asked& asked, const Made& made) {
    const TraceFacts facts = facts_of(kGpus, kStreams);
    const auto part = make_busy_part(facts);
    give(*part, made.piece, made.calls);
    part->finish(asked.run());
}

// The sweep keeps it in steps of 16 ns, which is more than any bound here: all or nothing.
int64_t likely_ns(const DeviceTimes& times, int64_t bound_ns) { return times.likely_ns == 0 ? 0 : bound_ns; }

std::string n(int64_t value) { return std::to_string(value); }

// What it was told, as tables: `part` (gpu, from, until, bit), `certain` and `possible`, both also as it is
// likely, and segments.
void tell(Asked& asked, const Made& made) {
    for (const char* name : {"part", "certain", "possible", "at_least", "at_most"})
        asked.execute("CREATE TEMP TABLE " + std::string(name) + " (gpu, f, u, bit)");
    const auto put = [&](const char* table, int gpu, int64_t from, int64_t until, int64_t bit) {
        if (until > from)
            asked.execute("INSERT INTO " + std::string(table) + " VALUES (" + n(gpu) + "," + n(from) + "," +
                          n(until) + "," + n(bit) + ")");
    };
    constexpr int64_t kBits[] = {1, 2, 8, 16, 32, 64, 512, 128, 256};
    for (const Call& call : made.calls) {
        if (call.kind != CallKind::operation || call.times.end_ns <= call.times.start_ns) continue;
        const int gpu = 10 + call.lane / kStreams;
        const DeviceTimes& times = call.times;
        const int64_t wait = call.type == OperationClass::comm ? std::max<int64_t>(0, call.wait_ns) : 0;
        const int64_t transfer = std::min(times.end_ns, times.start_ns + wait);
        put("part", gpu, times.start_ns, transfer, 4);
        put("part", gpu, transfer, times.end_ns, kBits[static_cast<size_t>(call.type)]);
        put("certain", gpu, times.start_high_ns, times.end_low_ns, 1);
        put("possible", gpu, times.start_low_ns, times.end_high_ns, 1);
        put("at_least", gpu, times.start_ns + likely_ns(times, times.start_high_ns - times.start_ns),
            times.end_ns - likely_ns(times, times.end_ns - times.end_low_ns), 1);
        put("at_most", gpu, times.start_ns - likely_ns(times, times.start_ns - times.start_low_ns),
            times.end_ns + likely_ns(times, times.end_high_ns - times.end_ns), 1);
    }
    asked.execute("CREATE TEMP TABLE segment (gpu, f, u, step)");
    for (int gpu = 0; gpu < kGpus; ++gpu) {
        const Interval known = made.piece.known[static_cast<size_t>(gpu)];
        int64_t at = known.start_ns;
        const auto segment = [&](int64_t until, int32_t step) {
            if (until > at)
                asked.execute("INSERT INTO segment VALUES (" + n(10 + gpu) + "," + n(at) + "," + n(until) +
                              "," + n(step) + ")");
            at = until;
        };
        for (const WholeStep& step : made.piece.steps) {
            segment(step.span.start_ns, -1);
            segment(step.span.end_ns, step.step);
        }
        segment(known.end_ns, -1);
    }
}

// Spans of a table cut at everything that begins or ends anywhere, with what is active in each.
std::string spans(const std::string& table) {
    return "WITH point AS (SELECT f AS p FROM " + table + " UNION SELECT u FROM " + table +
           " UNION SELECT f FROM segment UNION SELECT u FROM segment),"
           " span AS (SELECT p AS f, lead(p) OVER (ORDER BY p) AS u FROM point),"
           " ran AS (SELECT g.gpu, g.step, s.f, s.u, coalesce((SELECT sum(DISTINCT bit) FROM " +
           table +
           " o WHERE o.gpu = g.gpu AND o.f <= s.f AND o.u > s.f), 0) AS bits"
           " FROM span s JOIN segment g ON s.f >= g.f AND s.f < g.u)";
}

std::string busy(const std::string& table) {
    return spans(table) +
           " SELECT gpu, step, sum(CASE WHEN bits > 0 THEN u - f ELSE 0 END) FROM ran GROUP BY 1, 2 ORDER BY "
           "1, 2";
}

}  // namespace

TEST_CASE("the sweep is what SQL makes of the same operations", "[busy_part][random]") {
    Maker maker(20'261'120);
    for (int round = 0; round < 25; ++round) {
        INFO("round " << round);
        const Made made = maker.make(220);
        Asked asked;
        write(asked, made);
        tell(asked, made);
        REQUIRE(asked.rows("SELECT gpu_id, step, classes, ns FROM activity ORDER BY 1, 2, 3") ==
                asked.rows(spans("part") + " SELECT gpu, step, bits, sum(u - f) FROM ran GROUP BY 1, 2, 3"
                                           " ORDER BY 1, 2, 3"));
        REQUIRE(asked.rows("SELECT gpu_id, step, busy_low_ns FROM gpu_step ORDER BY 1, 2") ==
                asked.rows(busy("certain")));
        REQUIRE(asked.rows("SELECT gpu_id, step, busy_high_ns FROM gpu_step ORDER BY 1, 2") ==
                asked.rows(busy("possible")));
        REQUIRE(asked.rows("SELECT gpu_id, step, busy_likely_low_ns FROM gpu_step ORDER BY 1, 2") ==
                asked.rows(busy("at_least")));
        REQUIRE(asked.rows("SELECT gpu_id, step, busy_likely_high_ns FROM gpu_step ORDER BY 1, 2") ==
                asked.rows(busy("at_most")));
        REQUIRE(asked.rows("SELECT step, union_ns FROM together ORDER BY 1") ==
                asked.rows(spans("part") + " SELECT step, sum(busy * (u - f)) FROM (SELECT step, f, u,"
                                           " max(bits > 0) AS busy FROM ran GROUP BY 1, 2, 3)"
                                           " GROUP BY 1 ORDER BY 1"));
        REQUIRE(asked.rows("SELECT gpu_id, step, sum(ns) FROM gap GROUP BY 1, 2") ==
                asked.rows("SELECT gpu_id, step, ns FROM activity WHERE classes = 0"));
    }
}

TEST_CASE("where steps are cut changes no total", "[busy_part][random]") {
    Maker maker(3);
    for (int round = 0; round < 50; ++round) {
        INFO("round " << round);
        Made made = maker.make(400);
        Asked cut, whole;
        write(cut, made);
        made.piece.steps.clear();
        write(whole, made);
        for (const char* sql :
             {"SELECT gpu_id, classes, sum(ns) FROM activity GROUP BY 1, 2",
              "SELECT gpu_id, cause, blocked_on, sum(ns), sum(drained_by_sync_ns) FROM gap GROUP BY 1, 2, 3",
              "SELECT gpu_id, sum(window_ns), sum(busy_low_ns), sum(busy_high_ns),"
              " sum(busy_likely_low_ns), sum(busy_likely_high_ns), sum(operations), sum(timed),"
              " sum(api_ns), sum(between_ns), sum(own_work_ns) FROM gpu_step GROUP BY 1",
              "SELECT sum(union_ns), sum(sum_ns) FROM together"})
            REQUIRE(cut.rows(sql) == whole.rows(sql));
        REQUIRE(cut.rows("SELECT count(*) FROM gpu_step") != whole.rows("SELECT count(*) FROM gpu_step"));
    }
}

}  // namespace busy_random_test
