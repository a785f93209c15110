// Runs GPUSHIM_ON_HANG's command beside the program: `/bin/sh -c CMD`, with the verdict on its standard
// input, the program's stderr as both of its outputs, no other descriptor, and the environment that the
// program began to record with, without this library in it, and with GPUSHIM_HANG_PID. It runs in a session
// of its own.
//
// The command is no child of the program's: a program that waits for any child of its own, or counts SIGCHLD,
// does not see it. No handler of fork runs, no memory is copied, and only the writer waits, until the command
// begins.
#pragma once

#include <string_view>

namespace gpushim::shim {

// On the thread that starts recording; the writer does not ask the environment, which the program may change.
void keep_environment();

// 0: it runs; else errno's number. The writer's thread only.
int run_on_hang(std::string_view verdict);

}  // namespace gpushim::shim
