// The heap of a command that is to fill a good part of it.
#pragma once

namespace gpushim::analysis {

// From now on memory comes from one piece for all threads, which is kept until the process ends: what is
// given back is not taken from the kernel a second time. Before there are threads.
void use_one_heap();

// What nobody holds goes back to the kernel now, also between what somebody does. Any thread.
void give_back_heap();

}  // namespace gpushim::analysis
