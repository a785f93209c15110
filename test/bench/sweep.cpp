// How fast the sweep over one GPU's operations goes, by itself and with all that its part does beside: a line
// for each. No unit test: there the functions that are in several objects are the ones nothing has optimised.
#include "analysis/run/busy/activity_sweep.h"

#include "test/unit/analysis/busy_scene.h"

#include <cstdio>
#include <cstdlib>
#include <ctime>

using namespace busy_scene;

namespace {

constexpr OperationClass kTypes[] = {OperationClass::compute, OperationClass::comm, OperationClass::h2d};

// One GPU with three streams and a step every 1000 operations. Every tenth operation is a collective, every
// tenth a copy; the others are kernels back to back. Or: all of any length, on all streams alike.
struct Load {
    bool is_regular;
    int64_t ahead_ns;  // launches before starts
    uint32_t noise = 1;
    int64_t compute_ns = 0;  // the kernels' stream is free

    size_t stream(int64_t i) const {
        return static_cast<size_t>(is_regular ? (i % 10 == 4 ? 1 : i % 10 == 8 ? 2 : 0) : i % 3);
    }
    void fill(DeviceOrder& order, int64_t i) {
        noise = noise * 1'664'525 + 1'013'904'223;
        const size_t to = stream(i);
        const int64_t length_ns = 5 + (noise >> 27);
        int64_t start_ns = 20 * i + ahead_ns + (noise >> 29);
        if (is_regular && to == 0) start_ns = compute_ns = std::max(start_ns, compute_ns) + 1;
        DeviceOp& op = order.add(to, start_ns);
        op = {};
        op.start_ns = start_ns;
        op.end_ns = start_ns + length_ns;
        op.wait_ns = noise >> 28;
        op.type = kTypes[to];
        if (to == 0) compute_ns = op.end_ns;
    }
};

double rate(Load load) {
    constexpr int64_t kOperations = 10'000'000, kEachNs = 20;
    std::vector<WholeStep> steps;
    for (int64_t t = 0; t < kOperations * kEachNs; t += 1000 * kEachNs)
        steps.push_back({static_cast<int32_t>(steps.size()), {t, t + 1000 * kEachNs}});
    const auto segments = cut_at_steps({0, kOperations * kEachNs}, steps);
    DeviceOrder order(3);
    ActivitySweep sweep;
    sweep.begin(segments);
    const auto from = std::clock();
    for (int64_t i = 0; i < kOperations; ++i) {
        load.fill(order, i);
        if (i % 64 == 0)
            while (const DeviceOp* next = order.next(kEachNs * i)) sweep.add(*next);
    }
    while (const DeviceOp* next = order.next(INT64_MAX)) sweep.add(*next);
    sweep.end();
    const double took_s = static_cast<double>(std::clock() - from) / CLOCKS_PER_SEC;
    if (sweep.finish().size() < steps.size()) std::abort();
    return static_cast<double>(kOperations) / took_s / 1e6;
}

// The same with what a part does beside: host lines, gaps and their causes, bounds.
double part_rate() {
    constexpr int64_t kOperations = 4'000'000;
    const TraceFacts facts = facts_of(1, 3);
    const auto part = make_busy_part(facts);
    std::vector<WholeStep> steps;
    for (int64_t t = 0; t < kOperations * 10; t += 10'000)
        steps.push_back({static_cast<int32_t>(steps.size()), {t, t + 10'000}});
    part->begin(piece_of({{0, kOperations * 10}}, steps));
    const auto from = std::clock();
    uint32_t noise = 1;
    for (int64_t i = 0; i < kOperations; ++i) {
        noise = noise * 1'664'525 + 1'013'904'223;
        const int64_t start_ns = 10 * i + 300 + (noise >> 28);
        const auto stream = static_cast<int32_t>(i % 3);
        part->take(typed(ran(launch(stream, 10 * i, 10 * i + 5), start_ns, start_ns + 5 + (noise >> 27)),
                         kTypes[stream]),
                   false);
    }
    part->end();
    const double took_s = static_cast<double>(std::clock() - from) / CLOCKS_PER_SEC;
    return static_cast<double>(kOperations) / took_s / 1e6;
}

}  // namespace

int main() {
    for (const bool is_regular : {true, false})
        for (const int64_t ahead : {2, 1000})
            std::printf("sweep, %s, queues of %lld: %.1f M intervals/s\n",
                        is_regular ? "kernels back to back" : "at random", static_cast<long long>(ahead),
                        rate({is_regular, ahead * 20}));
    std::printf("part: %.1f M launches/s\n", part_rate());
}
