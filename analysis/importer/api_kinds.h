// What a call of the CUDA runtime or driver does, by its name: for traces of others, which say no more. Pure;
// any thread.
#pragma once

#include <string_view>

namespace gpushim::analysis {

enum class ApiTrait : unsigned char { none, blocking, device_memory, managed_memory, pinned_memory };

struct ApiKind {
    std::string_view kind;  // as in our traces' table `api`
    ApiTrait trait = ApiTrait::none;
};

// Without what only says which form of the call it is: cudaLaunchKernel_v7000, cuMemcpyHtoDAsync_v2_ptsz.
std::string_view base_of_api(std::string_view name);
// Without the version that CUPTI puts behind a name of the runtime: cudaMalloc of cudaMalloc_v3020.
std::string_view name_of_api(std::string_view name);
ApiKind kind_of_api(std::string_view name);
// Of a copy, as in our traces' table `copy`; 0: its name does not tell.
unsigned char direction_of_api(std::string_view name);

}  // namespace gpushim::analysis
