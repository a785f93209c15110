// Operations by start, from launches by enter.
#include "analysis/run/pass/device_order.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace device_order_test {

using namespace gpushim::analysis;

namespace {

void add(DeviceOrder& order, size_t stream, int64_t start_ns) {
    order.add(stream, start_ns).start_ns = start_ns;
}

std::string before(DeviceOrder& order, int64_t until_ns) {
    std::string text;
    while (const DeviceOp* next = order.next(until_ns))
        text += (text.empty() ? "" : " ") + std::to_string(next->start_ns);
    return text;
}

}  // namespace

//  stream 0    10   30      50
//  stream 1      20    40
TEST_CASE("streams are merged by start, up to what is certain", "[device_order]") {
    DeviceOrder order(2);
    for (const int64_t start : {10, 30, 50}) add(order, 0, start);
    for (const int64_t start : {20, 40}) add(order, 1, start);
    CHECK(before(order, 30) == "10 20");  // one that starts at 30 may still come
    CHECK(before(order, 30) == "");
    CHECK(before(order, 100) == "30 40 50");
    add(order, 1, 60);
    CHECK(before(order, 61) == "60");
}

TEST_CASE("one that starts before the one launched before it is put in its place", "[device_order]") {
    DeviceOrder order(1);
    for (const int64_t start : {50, 20, 60, 10, 55}) add(order, 0, start);
    CHECK(before(order, 15) == "10");
    CHECK(before(order, 100) == "20 50 55 60");
}

TEST_CASE("any order of any streams comes out by start", "[device_order][random]") {
    std::mt19937_64 random(5);
    const auto below = [&](int64_t n) { return static_cast<int64_t>(random() % static_cast<uint64_t>(n)); };
    DeviceOrder order(40);
    int64_t given = 0, taken = 0, last_ns = 0;
    const auto take = [&](const DeviceOp& next) {
        REQUIRE(next.start_ns >= last_ns);
        last_ns = next.start_ns;
        ++taken;
    };
    for (int64_t t = 0; t < 20'000; ++t, ++given) {
        add(order, static_cast<size_t>(below(40)), t + below(below(10) == 0 ? 5000 : 300));
        while (const DeviceOp* next = below(2) == 0 ? order.next(t) : nullptr) take(*next);
    }
    while (const DeviceOp* next = order.next(INT64_MAX)) take(*next);
    CHECK(taken == given);
}

// A stream's operations are taken one after the other until one of another stream is first.
TEST_CASE("long rows of one stream, ties and late ones come as sorted by start", "[device_order][random]") {
    std::mt19937_64 random(11);
    const auto below = [&](int64_t n) { return static_cast<int64_t>(random() % static_cast<uint64_t>(n)); };
    for (int round = 0; round < 200; ++round) {
        const int64_t streams = 1 + below(4);
        DeviceOrder order(static_cast<size_t>(streams));
        std::vector<std::pair<int64_t, int64_t>> waiting, expected, taken;  // start, which
        const auto take_until = [&](int64_t t_ns) {
            while (const DeviceOp* next = order.next(t_ns)) taken.push_back({next->start_ns, next->enter_ns});
            std::sort(waiting.begin(), waiting.end());
            while (!waiting.empty() && waiting.front().first < t_ns) {
                expected.push_back(waiting.front());
                waiting.erase(waiting.begin());
            }
        };
        int64_t t_ns = 0;
        for (int64_t which = 0; which < 300; ++which) {
            t_ns += below(4);
            const int64_t stream = below(8) == 0 ? below(streams) : 0, start_ns = t_ns + below(9);
            DeviceOp& op = order.add(static_cast<size_t>(stream), start_ns);
            op.start_ns = start_ns;
            op.enter_ns = which;
            waiting.push_back({start_ns, which});
            if (below(3) == 0) take_until(t_ns);
        }
        take_until(INT64_MAX);
        REQUIRE(taken.size() == 300);
        CHECK(std::is_sorted(taken.begin(), taken.end(),
                             [](const auto& a, const auto& b) { return a.first < b.first; }));
        std::sort(taken.begin(), taken.end());  // what starts at once may come in any order
        std::sort(expected.begin(), expected.end());
        CHECK(taken == expected);
    }
}

TEST_CASE("how far off times likely are is kept in steps, and never more than the bounds say",
          "[device_order]") {
    DeviceOp op = {};
    CHECK(op.likely_ns(500) == 0);
    op.set_likely_ns(17);
    CHECK(op.likely_ns(500) == 32);
    CHECK(op.likely_ns(20) == 20);
    op.set_likely_ns(1'000'000);
    CHECK(op.likely_ns(1'500'000) == 1'000'000);
    op.set_likely_ns(2'000'000);  // more than there are steps
    CHECK(op.likely_ns(1'500'000) == 1'500'000);
    op.set_likely_ns(-5);
    CHECK(op.likely_ns(500) == 0);
}

}  // namespace device_order_test
