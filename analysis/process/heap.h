// The heap of a command that is to fill a good part of it.
#pragma once

namespace gpushim::analysis {

// From now on memory comes in large pages where the kernel gives them, and from one piece for all threads,
// which is kept until the process ends: to be given 4 KiB takes the kernel 1.5 us, in a large page a tenth of
// that. Costs nothing that is not used but for the rest of its last large pages. Before there are threads.
void use_large_pages();

}  // namespace gpushim::analysis
