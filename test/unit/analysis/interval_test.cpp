// The algebra of spans, by hand and against what SQL says of the same rows.
#include "analysis/interval/interval.h"

#include <array>
#include <catch2/catch.hpp>
#include <random>

#include "analysis/sqlite/database.h"

namespace interval_test {

using namespace gpushim::analysis;

namespace {

//  time  0    5    10   15   20   25   30
//  a     ─████─────██████────────█████───
//  b     ───████────██──────████─────████
const Intervals kA = {{1, 5}, {10, 16}, {24, 29}};
const Intervals kB = {{3, 7}, {11, 13}, {19, 23}, {28, 32}};

std::vector<Interval> random_spans(std::mt19937_64& random, int count) {
    std::vector<Interval> spans;
    for (int i = 0; i < count; ++i) {
        const auto start = static_cast<int64_t>(random() % 1000);
        spans.push_back({start, start + static_cast<int64_t>(random() % 40)});
    }
    return spans;
}

// Which nanoseconds are covered, counted one by one: `a` and `b` say in how many spans of each table they
// lie.
int64_t by_sql(const std::vector<Interval>& a, const std::vector<Interval>& b, const char* condition) {
    const Database base = Database::in_memory();
    base.run("CREATE TABLE a (s, e); CREATE TABLE b (s, e)");
    for (const auto& [table, spans] : {std::pair("a", &a), std::pair("b", &b)})
        for (const Interval& span : *spans)
            base.run(std::string("INSERT INTO ") + table + " VALUES (" + std::to_string(span.start_ns) +
                     ", " + std::to_string(span.end_ns) + ")");
    Query query = base.prepare(
        std::string("WITH RECURSIVE t(ns) AS (SELECT 0 UNION ALL SELECT ns + 1 FROM t WHERE ns < 1100),"
                    " n AS (SELECT (SELECT count(*) FROM a WHERE s <= ns AND ns < e) AS a,"
                    " (SELECT count(*) FROM b WHERE s <= ns AND ns < e) AS b, ns FROM t)"
                    " SELECT count(*) FROM n WHERE ") +
        condition);
    query.step();
    return query.number(0);
}

}  // namespace

TEST_CASE("a union has no overlaps, no empty spans and no seams", "[interval]") {
    //  ████      ██
    //     ███  ██        touches: one span
    //   █
    CHECK(unite({{8, 10}, {3, 6}, {0, 4}, {1, 2}, {10, 12}, {20, 20}, {30, 25}}) ==
          Intervals{{0, 6}, {8, 12}});
    CHECK(unite(std::vector<Interval>{}).empty());
    CHECK(unite(kA, kB) == Intervals{{1, 7}, {10, 16}, {19, 23}, {24, 32}});
}

TEST_CASE("what two have in common, and what one has alone", "[interval]") {
    CHECK(intersect(kA, kB) == Intervals{{3, 5}, {11, 13}, {28, 29}});
    CHECK(subtract(kA, kB) == Intervals{{1, 3}, {10, 11}, {13, 16}, {24, 28}});
    CHECK(subtract(kB, kA) == Intervals{{5, 7}, {19, 23}, {29, 32}});
    CHECK(subtract({}, kA).empty());
    CHECK(subtract(kA, {}) == kA);
    CHECK(intersect({{0, 5}}, {{5, 9}}).empty());
}

TEST_CASE("spans are clipped, and their gaps fill the rest", "[interval]") {
    CHECK(clip(kA, {3, 25}) == Intervals{{3, 5}, {10, 16}, {24, 25}});
    CHECK(clip(kA, {9, 9}).empty());
    CHECK(gaps(kA, {0, 30}) == Intervals{{0, 1}, {5, 10}, {16, 24}, {29, 30}});
    CHECK(gaps(kA, {2, 12}) == Intervals{{5, 10}});
    CHECK(gaps({}, {2, 12}) == Intervals{{2, 12}});
    CHECK(length_ns(kA) == 15);
    CHECK(length_ns(clip(kA, {3, 25})) + length_ns(gaps(kA, {3, 25})) == 22);
}

TEST_CASE("SQL says the same of random spans", "[interval]") {
    for (const unsigned seed : {1U, 2U, 3U, 4U, 5U, 6U}) {
        std::mt19937_64 random(seed);
        const auto a = random_spans(random, 25), b = random_spans(random, 18);
        const Intervals ua = unite(a), ub = unite(b);
        INFO("seed " << seed);
        CHECK(length_ns(ua) == by_sql(a, b, "a > 0"));
        CHECK(length_ns(unite(ua, ub)) == by_sql(a, b, "a > 0 OR b > 0"));
        CHECK(length_ns(intersect(ua, ub)) == by_sql(a, b, "a > 0 AND b > 0"));
        CHECK(length_ns(subtract(ua, ub)) == by_sql(a, b, "a > 0 AND b = 0"));
        CHECK(length_ns(clip(ua, {300, 700})) == by_sql(a, b, "a > 0 AND ns >= 300 AND ns < 700"));
        CHECK(length_ns(gaps(ua, {300, 700})) == by_sql(a, b, "a = 0 AND ns >= 300 AND ns < 700"));
    }
}

TEST_CASE("a union that grows is the same, in whatever order its spans come", "[interval]") {
    std::mt19937_64 random(7);
    std::vector<Interval> all;
    GrowingUnion growing;
    for (int i = 0; i < 50'000; ++i) {
        const auto start = static_cast<int64_t>(random() % 1'000'000);
        all.push_back({start, start + static_cast<int64_t>(random() % 30)});
        growing.add(all.back());
    }
    CHECK(growing.take() == unite(all));
    CHECK(growing.take().empty());
}

//  stream 1   ██  ██  ██  ██  ██               each in its own order, and apart from the other
//  stream 2                     █████   █████
TEST_CASE("a union of streams that are apart is the same, and so where one goes back", "[interval]") {
    std::mt19937_64 random(11);
    std::vector<Interval> all;
    GrowingUnion growing;
    std::array<int64_t, 3> at_ns = {0, 200, 230};
    for (int i = 0; i < 20'000; ++i) {
        const size_t stream = random() % at_ns.size();
        int64_t& start_ns = at_ns[stream];
        start_ns += static_cast<int64_t>(random() % 20) - (random() % 50 == 0 ? 100 : 0);
        all.push_back({start_ns, start_ns + static_cast<int64_t>(random() % 12)});
        growing.add(all.back(), stream);
    }
    CHECK(growing.take() == unite(all));
    growing.add({5, 9}, 1);  // and begins with none
    growing.add({2, 5}, 2);
    CHECK(growing.take() == Intervals{{2, 9}});
}

}  // namespace interval_test
