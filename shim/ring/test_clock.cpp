#include "test_clock.h"

#include <algorithm>

#include "../base/own_thread.h"
#include "../base/system.h"
#include "ticks.h"

namespace gpushim::shim {
namespace {

constexpr int64_t kStandstillNs = 2'000'000'000, kMostWaitNs = 60'000'000'000;

thread_local constinit bool is_writer __attribute__((tls_model("initial-exec"))) = false;

bool follows_test_clock() { return process_state->clock_kind == kTestClock; }

void wake_writer() {
    // One system call for each time it sleeps.
    if (process_state->awake.exchange(1) == 0) wake_all(process_state->awake);
}

}  // namespace

void wait_for_pass() {
    if (is_writer || !is_written()) return;
    const KeepErrno keep;
    const uint32_t passes = process_state->passes.load();
    const int64_t begun_ns = clock_ns(CLOCK_MONOTONIC);
    wake_writer();
    int64_t left_ns = kStandstillNs;
    while (left_ns > 0 && process_state->passes.load() == passes && is_written()) {
        wait_while(process_state->passes, passes, left_ns);
        const int64_t waited_ns = clock_ns(CLOCK_MONOTONIC) - begun_ns;
        left_ns = kStandstillNs - waited_ns;
        if (left_ns <= 0 && another_own_thread_is_at_work())
            left_ns = std::min(kStandstillNs, kMostWaitNs - waited_ns);
    }
}

void call_writer() {
    if (!follows_test_clock()) return wake_writer();
    if (process_state->next_pass.load() == kNoMorePasses) return;
    process_state->next_pass.store(0);
    wait_for_pass();
}

void be_the_writer() { is_writer = true; }

bool pass_is_due(uint64_t ticks) { return !follows_test_clock() || ticks >= process_state->next_pass.load(); }

void pass_is_done(uint64_t next_ticks) {
    process_state->next_pass.store(next_ticks);
    process_state->passes.fetch_add(1);
    wake_all(process_state->passes);
}

}  // namespace gpushim::shim
