// What a process says at its exit, with GPUSHIM_LOG=info and where no `gpushim run` says it for all: where
// its trace is and what to type next, or that nothing was traced. The thread that ends the process.
#pragma once

namespace gpushim::shim {

void say_where_the_trace_is(const char* path);

// Where nothing of ours has begun. Whether the environment asks for such lines: it has not been read before.
bool wants_last_words();
// `driver_was_used`: cuInit has succeeded.
void say_that_nothing_was_traced(bool driver_was_used);

}  // namespace gpushim::shim
