// The C++ headers of NVTX: ranges that end with their scope, in a domain that is a type.
#include <cuda.h>

#include <nvtx3/nvtx3.hpp>

struct physics {
    static constexpr char const* name{"physics"};
};
struct solving {
    static constexpr char const* message{"solving"};
};

static void solve(int depth) {
    nvtx3::scoped_range_in<physics> range{nvtx3::registered_string_in<physics>::get<solving>(),
                                          nvtx3::payload{depth}};
    if (depth < 2) solve(depth + 1);
}

int main() {
    CUcontext context;
    if (cuInit(0) != CUDA_SUCCESS || cuCtxCreate_v4(&context, nullptr, 0, 0) != CUDA_SUCCESS) return 9;
    NVTX3_FUNC_RANGE();
    solve(0);
    nvtx3::unique_range moved{"moved"};
    nvtx3::unique_range to = std::move(moved);
    nvtx3::mark_in<physics>("done");
}
