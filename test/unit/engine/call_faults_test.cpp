#include "engine/call_faults.h"

#include <string>

#include "box.h"

namespace call_faults_test {

using namespace gpusim;

TEST_CASE("calls fail as the knob says, and only those", "[call_faults]") {
    ::box::knobs("GPUSIM_FAIL=cuMemAlloc_v2:3:2,cuLaunchKernel:1:719");
    const InjectedFault alloc = injected_fault("cuMemAlloc_v2");
    CHECK(alloc.error == 2);
    CHECK_FALSE(alloc.due(2));
    CHECK(alloc.due(3));
    CHECK_FALSE(alloc.due(4));
    CHECK(injected_fault("cuLaunchKernel").due(1));
    CHECK(injected_fault("cuLaunchKernel").error == 719);
    CHECK_FALSE(injected_fault("cuMemAlloc").due(3));
    CHECK_FALSE(injected_fault("cuInit").due(0));
}

TEST_CASE("no call fails without the knob", "[call_faults]") {
    for (uint64_t n = 0; n < 4; ++n) CHECK_FALSE(injected_fault("cuInit").due(n));
}

}  // namespace call_faults_test
