// Signals that come of writing: a reader that has gone (SIGPIPE), a file grown to its limit (SIGXFSZ). Here
// the write fails, which is told; a program that we start has them as we were given them.
#pragma once

namespace gpushim::analysis {

void ignore_write_signals();
void give_back_write_signals();  // in a child, before it becomes the program

}  // namespace gpushim::analysis
