// How many operations a second go through the parts of this folder, on one core.
#include <cstdio>
#include <ctime>

#include "analysis/run/parts/own_parts.h"
#include "made_facts.h"

#include <catch2/catch.hpp>

namespace parts_speed_test {

using namespace made;

// A step of 200 kernels on three streams, every tenth of them a collective's, with an input copy and a wait.
TEST_CASE("speed of the parts", "[.speed]") {
    constexpr int kSteps = 1000, kKernels = 200;
    MadeFacts made(1, 3);
    for (int i = 0; i < 50; ++i) made.kernel("kernel_" + std::to_string(i));
    for (int step = 0; step < kSteps; ++step) made.step(step * 2'000'000, (step + 1) * 2'000'000);
    std::vector<Call> calls;
    for (int step = 0; step < kSteps; ++step) {
        int64_t at_ns = step * 2'000'000;
        calls.push_back(
            ran(in_step(of_kind(launch(1, at_ns, at_ns + 4000), OperationClass::h2d, 1 << 20, 33), step),
                at_ns + 8000, at_ns + 100'000));
        for (int i = 0; i < kKernels; ++i) {
            at_ns += 5000;
            Call call = kernel(launch(i % 10 == 9 ? 2 : 0, at_ns, at_ns + 4000), i % 50);
            if (call.lane == 2) call.type = OperationClass::comm;
            calls.push_back(ran(in_step(call, step), at_ns + 8000 + i * 2000, at_ns + 14'000 + i * 2000));
        }
        calls.push_back(in_step(sync_stream(0, at_ns + 5000, at_ns + 500'000), step));
    }
    struct Maker {
        const char* name;
        std::unique_ptr<Part> (*make)(const TraceFacts&);
    };
    for (const auto& [name, make] : {Maker{"api", make_api_part},
                                     {"launch", make_launch_part},
                                     {"operation", make_operation_part},
                                     {"step", make_step_part},
                                     {"stream", make_stream_part},
                                     {"sync", make_sync_part},
                                     {"thread", make_thread_part},
                                     {"transfer", make_transfer_part}}) {
        const auto part = make(made.facts);
        const std::clock_t begin = std::clock();  // of the CPU: others may want it, too
        part->begin(made.whole());
        for (const Call& call : calls) {
            part->see(call);
            part->take(call, false);
        }
        part->end();
        const double took_ns = 1e9 * static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
        std::printf("%-9s %6.1f ns an operation, %6.1f M/s\n", name,
                    took_ns / static_cast<double>(calls.size()),
                    1000.0 * static_cast<double>(calls.size()) / took_ns);
    }
}

}  // namespace parts_speed_test
