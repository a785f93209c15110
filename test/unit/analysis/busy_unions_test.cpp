// How long a GPU was busy, certainly and possibly, against unions of the operations as they are.
#include "analysis/run/busy/busy_unions.h"

#include <catch2/catch.hpp>
#include <random>

namespace busy_unions_test {

using namespace gpushim::analysis;

namespace {

DeviceOp operation(int64_t start_ns, int64_t end_ns, int32_t before_ns = 0, int32_t after_ns = 0,
                   int64_t likely_ns = 0) {
    DeviceOp op = {};
    op.start_ns = start_ns;
    op.end_ns = end_ns;
    op.start_before_ns = op.end_before_ns = before_ns;
    op.start_after_ns = op.end_after_ns = after_ns;
    op.set_likely_ns(likely_ns);
    return op;
}

using Ns = std::vector<int64_t>;

// Of the spans in each segment; those are kept a little apart by `spread` from an operation.
template <class Spread>
Ns union_ns(const std::vector<DeviceOp>& operations, const std::vector<Segment>& segments, Spread spread,
            const Intervals& others = {}) {
    std::vector<Interval> spans = others;
    for (const DeviceOp& op : operations)
        if (op.end_ns > op.start_ns) spans.push_back(spread(op));
    const Intervals all = unite(spans);
    Ns sums;
    for (const Segment& segment : segments)
        sums.push_back(length_ns(clip(all, {segment.from_ns, segment.until_ns})));
    return sums;
}

void check(const std::vector<DeviceOp>& operations, const TimedSpan::Untimed& untimed = {}) {
    const std::vector<Segment> segments = {{0, 3'000, 0}, {3'000, 3'500, kNoStep}, {3'500, 9'000, 1}};
    BusyUnions unions;
    unions.begin(segments, untimed);
    for (const DeviceOp& op : operations) unions.add(op);
    const BusyUnions::Sums sums = unions.finish();
    const auto certain = [](const DeviceOp& op) {
        return Interval{op.start_ns + op.start_after_ns, op.end_ns - op.end_before_ns};
    };
    const auto possible = [](const DeviceOp& op) {
        return Interval{op.start_ns - op.start_before_ns, op.end_ns + op.end_after_ns};
    };
    const auto at_least = [](const DeviceOp& op) {
        return Interval{op.start_ns + op.likely_ns(op.start_after_ns),
                        op.end_ns - op.likely_ns(op.end_before_ns)};
    };
    const auto at_most = [](const DeviceOp& op) {
        return Interval{op.start_ns - op.likely_ns(op.start_before_ns),
                        op.end_ns + op.likely_ns(op.end_after_ns)};
    };
    CHECK(sums.low == union_ns(operations, segments, certain));
    CHECK(sums.high == union_ns(operations, segments, possible, untimed.all));
    CHECK(sums.likely_low == union_ns(operations, segments, at_least));
    CHECK(sums.likely_high == union_ns(operations, segments, at_most, untimed.late));
}

std::vector<DeviceOp> drawn(uint64_t seed, size_t exact) {
    std::mt19937_64 random(seed);
    const auto below = [&](int64_t n) { return static_cast<int64_t>(random() % static_cast<uint64_t>(n)); };
    std::vector<DeviceOp> operations;
    for (int64_t t = 0; t < 9'000; t += below(40)) {
        const bool is_exact = operations.size() < exact;
        operations.push_back(operation(t, t + below(60), static_cast<int32_t>(is_exact ? 0 : below(40)),
                                       static_cast<int32_t>(is_exact ? 0 : below(40)), below(30)));
    }
    return operations;
}

}  // namespace

TEST_CASE("four unions are those of the operations, exact or not", "[busy_part][random]") {
    const size_t exact = GENERATE(as<size_t>(), 0, 1, 100, 100'000);
    const auto seed = GENERATE(range<uint64_t>(1, 6));
    CAPTURE(exact, seed);
    check(drawn(seed, exact));
}

TEST_CASE("what has no device times is possible, though all that has is exact", "[busy_part]") {
    check({operation(10, 20), operation(40, 50), operation(3'600, 3'700)},
          {{{15, 45}, {3'450, 3'650}}, {{3'550, 3'650}}});
    check({operation(10, 20)}, {{{15, 45}}, {}});
    check({operation(10, 20), operation(30, 30), operation(35, 32), operation(60, 70, 3, 4)});
}

}  // namespace busy_unions_test
