#include "process_state.h"

#include <signal.h>

#include "guard.h"

namespace gpushim::shim {
namespace {

// Dark for ever: what `process_state` points to until there is a page of our own. Not const, so that it is in
// .bss.
constinit ProcessState nothing = {};

}  // namespace

constinit ProcessState* process_state = &nothing;
thread_local constinit ThreadState thread_state __attribute__((tls_model("initial-exec"))) = {};

bool on_signal_stack() {
    stack_t stack;
    return sigaltstack(nullptr, &stack) == 0 && (stack.ss_flags & SS_ONSTACK) != 0;
}

}  // namespace gpushim::shim
