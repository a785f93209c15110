// Rows of gpu_peak: for each GPU that ran kernels, in what precision most of its arithmetic was and how fast
// the GPU can be in that at most. Reads the rows of `gpu`, `kernel` and `shared_gpu`, so after those; one
// thread.
#pragma once

namespace gpushim::analysis {

class RunDb;

void write_peaks(RunDb& run);

}  // namespace gpushim::analysis
