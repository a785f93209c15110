// The library of a profiler plug-in, by NCCL's rules. Any thread.
#pragma once

namespace gpusim::nccl::profiler {

struct Plugin {
    int interface = 0;                 // 0: there is none
    void* const* functions = nullptr;  // a name, then five functions
};

// For one communicator more, and one less. A plug-in that was not found is not looked for again.
Plugin take_plugin();
void drop_plugin();

}  // namespace gpusim::nccl::profiler
