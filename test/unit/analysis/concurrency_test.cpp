// What ran beside what, by hand and against every pair.
#include "analysis/run/parts/concurrency.h"

#include <algorithm>
#include <map>
#include <random>

#include "analysis/interval/interval.h"

#include <catch2/catch.hpp>

namespace concurrency_test {

using namespace gpushim::analysis;

namespace {

struct Seen {
    struct Told {
        Seen* seen;
        void started(const Ran& ran) { seen->started_in_order.push_back(ran.who); }
        void ended(const Ran& ran) {
            seen->ended[ran.who] = ran;
            seen->ends.push_back(ran.end_ns);
        }
    };
    std::vector<uint64_t> started_in_order;
    std::map<uint64_t, Ran> ended;
    std::vector<int64_t> ends;
    Concurrency<Told> beside{Told{this}};
};

}  // namespace

//            0    3    6    9  10   12   15  18
//  compute   ███1█████                 ███3███       1 and 2 beside the collective
//  comm           ████4████████
//  compute             ███2███████                  alone: 1 for 3, 2 for 2 (10 to 12), 3 for 3, 4 for 0
TEST_CASE("operations beside a collective, and alone", "[beside]") {
    Seen seen;
    seen.beside.add(0, {0, 6, 1});
    seen.beside.add(0, {3, 10, 4, true});
    seen.beside.add(1, {6, 12, 2});
    seen.beside.add(2, {15, 18, 3});
    seen.beside.finish();
    CHECK(seen.started_in_order == std::vector<uint64_t>{1, 4, 2, 3});
    CHECK(seen.ended[1].beside_comm);
    CHECK(seen.ended[2].beside_comm);
    CHECK(!seen.ended[3].beside_comm);
    CHECK(!seen.ended[4].beside_comm);
    CHECK(seen.ended[1].alone_ns == 3);
    CHECK(seen.ended[2].alone_ns == 2);
    CHECK(seen.ended[3].alone_ns == 3);
    CHECK(seen.ended[4].alone_ns == 0);
}

TEST_CASE("operations that touch are not beside each other", "[beside]") {
    Seen seen;
    seen.beside.add(0, {0, 6, 1});
    seen.beside.add(0, {6, 9, 2, true});
    seen.beside.add(0, {9, 12, 3});
    seen.beside.finish();
    CHECK(!seen.ended[1].beside_comm);
    CHECK(!seen.ended[3].beside_comm);
    CHECK(seen.ended[1].alone_ns == 6);
}

TEST_CASE("any order of start gives what every pair gives", "[beside]") {
    std::mt19937_64 random(2);
    for (int round = 0; round < 200; ++round) {
        Seen seen;
        std::vector<Ran> all;
        int64_t enter_ns = 0;
        for (uint64_t who = 0; who < 40; ++who) {
            enter_ns += static_cast<int64_t>(random() % 20);
            const int64_t start_ns = enter_ns + static_cast<int64_t>(random() % 60);
            all.push_back(
                {start_ns, start_ns + 1 + static_cast<int64_t>(random() % 40), who, random() % 4 == 0});
            seen.beside.add(enter_ns, all.back());
        }
        seen.beside.finish();
        REQUIRE(seen.ended.size() == all.size());
        CHECK(std::is_sorted(seen.ends.begin(), seen.ends.end()));
        for (const Ran& one : all) {
            bool beside_comm = false;
            Intervals others;
            for (const Ran& other : all) {
                if (other.who == one.who) continue;
                others.push_back({other.start_ns, other.end_ns});
                beside_comm |= other.is_comm && other.start_ns < one.end_ns && other.end_ns > one.start_ns;
            }
            const int64_t alone_ns = length_ns(subtract({{one.start_ns, one.end_ns}}, unite(others)));
            CHECK(seen.ended[one.who].beside_comm == beside_comm);
            CHECK(seen.ended[one.who].alone_ns == alone_ns);
        }
    }
}

}  // namespace concurrency_test
