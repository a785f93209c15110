// What NCCL's profiler interface costs the thread that calls it: an operation that begins and ends, and a
// step of a network operation with three states. Beside two time stamps, of which the first makes and writes
// as many, and the second twice as many plus one.
#include "../../shim/program/nccl_plugin_layout.h"
#include "ways.h"

namespace bench {
namespace {

using namespace gpushim::shim::nccl_plugin;

const Functions5* functions;
void* context;
void* network;

__attribute__((noinline)) void nothing(const Event5& event) { sink = reinterpret_cast<uint64_t>(&event); }

Event5 event_of(What what) {
    Event5 event = {};
    event.what = what;
    event.collective = {};
    event.collective.function = "AllReduce";
    event.collective.algorithm = "RING";
    event.collective.protocol = "SIMPLE";
    return event;
}

void call_nothing(const Driver&, int count) {
    const Event5 event = event_of(kCollective);
    for (int i = 0; i < count; ++i) nothing(event);
}
void call_stamped(const Driver&, int count) {
    const Event5 event = event_of(kCollective);
    for (int i = 0; i < count; ++i) {
        const uint64_t enter = ticks();
        nothing(event);
        sink = ticks() - enter;
    }
}
void tell_operations(const Driver&, int count) {
    const Event5 event = event_of(kCollective);
    for (int i = 0; i < count; ++i) {
        void* handle = nullptr;
        functions->start(context, &handle, &event);
        functions->stop(handle);
    }
}
void tell_steps(const Driver&, int count) {
    Event5 event = event_of(kNetworkStep);
    event.parent = network;
    const Said said = {1 << 19};
    for (int i = 0; i < count; ++i) {
        void* handle = nullptr;
        functions->start(context, &handle, &event);
        for (const State state : {kSendWaitsForGpu, kSendWaitsForPeer, kSendWaitsForNetwork})
            functions->come_into(handle, state, &said);
        functions->stop(handle);
    }
}

// As NCCL asks. In one variable, so that no compiler takes the look-up for a constant's.
void find_functions() {
    void* const program = dlopen(nullptr, RTLD_NOW);
    functions = static_cast<const Functions5*>(dlsym(program, "ncclProfiler_v5"));
    int wanted = 0;
    if (functions == nullptr || functions->begin(&context, 1, &wanted, nullptr, 1, 2, 0, nullptr) != 0)
        std::abort();
    Event5 event = event_of(kNetwork);
    functions->start(context, &network, &event);
    if (network == nullptr || (static_cast<uint32_t>(wanted) & kNetworkStep) == 0) std::abort();
}

}  // namespace
}  // namespace bench

int main() {
    bench::Driver driver;
    driver.start();
    bench::find_functions();
    std::vector<bench::Way> ways = {{"plain", bench::call_nothing, {}},
                                    {"stamped", bench::call_stamped, {}},
                                    {"operation", bench::tell_operations, {}},
                                    {"step", bench::tell_steps, {}}};
    bench::measure_bursts(driver, ways, true);
    bench::print(ways);
    return 0;
}
