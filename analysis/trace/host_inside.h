// What a thread was inside of, as its framework told another profiler: column `inside` of host_span. Plain
// values.
#pragma once

#include <cstdint>

namespace gpushim::analysis {

// Of several at one time the first counts (waits: before python, allocates and messages: before framework): a
// loader's operators load, an optimizer's optimize.
enum class HostInside : uint8_t {
    input = 1,  // the loading of a batch
    optimizer,
    framework,  // an operator, which is dispatched to what it launches
    python,     // a frame
    sampled,    // no span, and in no trace of another tool: seen in a line of Python at that moment
    waits,      // for the device, as its name tells, without a call that says so
    allocates,  // memory of the device, as its name tells; what the framework has of it needs no call
    messages,   // to other processes: a call of MPI
    untold      // no profile of the framework reaches here: what it was in is not known
};
constexpr HostInside kLastInside = HostInside::untold;

// What a sample of its Python says of a thread, beside the line that it was in. Of several the first counts.
enum class PythonDoes : uint8_t {
    waits_for_lock,    // of the interpreter: another thread has it
    collects_garbage,  // the interpreter, in this thread
    loads,             // a batch
    optimizes,
    calls_back,  // a callback, logging, a checkpoint
    untold
};

}  // namespace gpushim::analysis
