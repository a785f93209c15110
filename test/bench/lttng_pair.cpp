// A launch with an LTTng-UST tracepoint before and one after it, beside the plain launch and the one with two
// time stamps, the three in turns. Prints as call_cost does. Run inside a session that records
// gpushim_bench:*.
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "lttng_events.inc"
//
#include "ways.h"

namespace {

__attribute__((noinline)) void launch_traced(const bench::Driver& driver, int count) {
    for (int i = 0; i < count; ++i) {
        lttng_ust_tracepoint(gpushim_bench, enter, reinterpret_cast<uint64_t>(driver.function), 0, 8, 256);
        const CUresult result = driver.launch(driver.plain);
        lttng_ust_tracepoint(gpushim_bench, exit, static_cast<uint32_t>(result));
    }
}

}  // namespace

int main() {
    bench::Driver driver;
    driver.start();
    std::vector<bench::Way> ways = {{"plain", bench::launch_plain, {}},
                                    {"stamped", bench::launch_stamped, {}},
                                    {"traced", launch_traced, {}}};
    bench::measure_bursts(driver, ways, true);
    bench::print(ways);
    return 0;
}
