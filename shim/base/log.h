// Lines on stderr, and nowhere else: nothing on stdout ever, nothing below the level of GPUSHIM_LOG (default
// warn). One write per line. Cold side only: it allocates. Any thread; the writer's lines go to the program's
// stderr although the writer has descriptors of its own.
#pragma once

#include "config.h"

namespace gpushim::shim {

[[gnu::format(printf, 2, 3)]] void log_line(LogLevel level, const char* format, ...);

// The program's stderr for a thread that has descriptors of its own, to be closed; -1: there is none.
int borrow_stderr();

}  // namespace gpushim::shim
