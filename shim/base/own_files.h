// Files that we have open in the program's table of descriptors, where there is no other (descriptors.h): it
// may close them and have its own under their numbers at any time, in the middle of a transaction, too.
// Promise: what is not ours any more is not written to, locked or closed. Where the table is ours, nothing is
// asked. The writer's thread only.
#pragma once

namespace gpushim::shim {

// A file that was just opened, or -1. The same under a number that few programs come to, for what is closed
// between a look and the write that follows stays closed then. Where the limit of numbers is low, a lower
// one.
int kept_as_ours(int descriptor);

// False: not any more; errno is EBADF.
bool is_ours(int descriptor);

// As close(2). What is not ours any more is only forgotten.
int close_ours(int descriptor);

}  // namespace gpushim::shim
