// What an export of Nsight Systems says of the machine and of who its processes were: GPUs as a process
// numbers them, and ranks, as its launcher or MPI numbers processes. What is not said is not guessed. One
// thread.
#pragma once

#include <vector>

#include "../../sqlite/database.h"
#include "../trace_writer.h"

namespace gpushim::analysis {

std::vector<ImportedDevice> nsys_devices(const Database& base, int64_t process);

struct NsysRank {
    ImportedNumber rank, world_size;
};

// is_only: no other process of the file called CUDA. Variables are recorded of the program that nsys started:
// where that starts several, they are none's.
NsysRank nsys_rank(const Database& base, int64_t process, bool is_only);

}  // namespace gpushim::analysis
