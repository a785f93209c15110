#include "analysis/importer/api_kinds.h"

#include <catch2/catch.hpp>

namespace api_kinds_test {

using namespace gpushim::analysis;

TEST_CASE("what a call does is told by its name, whatever its form", "[api_kinds]") {
    CHECK(kind_of_api("cudaLaunchKernel").kind == "launch");
    CHECK(kind_of_api("cudaLaunchKernel_v7000").kind == "launch");
    CHECK(kind_of_api("cudaLaunchKernel_ptsz_v7000").kind == "launch");
    CHECK(kind_of_api("cuMemcpyHtoDAsync_v2").kind == "copy");
    CHECK(kind_of_api("cuStreamSynchronize_ptsz").kind == "sync");
    CHECK(kind_of_api("cudaEventQuery_v3020").kind == "query");
    CHECK(kind_of_api("cudaFuncGetAttributes").kind == "other");
    CHECK(kind_of_api("").kind == "other");
}

TEST_CASE("a call's name is without the version of CUPTI, and with that of the driver", "[api_kinds]") {
    CHECK(name_of_api("cudaMalloc_v3020") == "cudaMalloc");
    CHECK(name_of_api("cudaGraphLaunch_v10000") == "cudaGraphLaunch");
    CHECK(name_of_api("cudaLaunchKernel_ptsz_v7000") == "cudaLaunchKernel_ptsz");
    CHECK(name_of_api("cuMemcpyHtoDAsync_v2") == "cuMemcpyHtoDAsync_v2");
    CHECK(name_of_api("cudaMalloc") == "cudaMalloc");
    CHECK(name_of_api("_v3020") == "_v3020");
    CHECK(name_of_api("") == "");
}

TEST_CASE("calls of HIP are known by their own names or the runtime's", "[api_kinds]") {
    CHECK(kind_of_api("hipLaunchKernel").kind == "launch");
    CHECK(kind_of_api("hipExtModuleLaunchKernel").kind == "launch");
    CHECK(kind_of_api("hipGraphLaunch").kind == "graph_launch");
    CHECK(kind_of_api("hipEventSynchronize").kind == "sync");
    CHECK(kind_of_api("hipMemcpyAsync").trait == ApiTrait::none);
    CHECK(kind_of_api("hipMemcpyWithStream").trait == ApiTrait::blocking);
    CHECK(kind_of_api("hipHostMalloc").trait == ApiTrait::pinned_memory);
    CHECK(kind_of_api("hipPointerGetAttribute").kind == "other");
}

TEST_CASE("forms that block are told from those that do not", "[api_kinds]") {
    CHECK(kind_of_api("cudaMemcpy_v3020").trait == ApiTrait::blocking);
    CHECK(kind_of_api("cudaMemcpyAsync_v3020").trait == ApiTrait::none);
    CHECK(kind_of_api("cudaMallocHost").trait == ApiTrait::pinned_memory);
    CHECK(kind_of_api("cudaMallocManaged").trait == ApiTrait::managed_memory);
    CHECK(kind_of_api("cudaMalloc").trait == ApiTrait::device_memory);
}

TEST_CASE("some names say which way is copied", "[api_kinds]") {
    CHECK(direction_of_api("hipMemcpyHtoDAsync") == 1);
    CHECK(direction_of_api("cuMemcpyDtoHAsync_v2_ptsz") == 2);
    CHECK(direction_of_api("cuMemcpyDtoD_v2") == 3);
    CHECK(direction_of_api("cudaMemcpyPeerAsync") == 4);
    CHECK(direction_of_api("hipMemcpyWithStream") == 0);
}

TEST_CASE("only what says the form is left out of a name", "[api_kinds]") {
    CHECK(base_of_api("cuMemAlloc_v2") == "cuMemAlloc");
    CHECK(base_of_api("cuLaunchKernel_ptsz") == "cuLaunchKernel");
    CHECK(base_of_api("my_function") == "my_function");
    CHECK(base_of_api("a_v") == "a_v");
    CHECK(base_of_api("_v2") == "_v2");
}

}  // namespace api_kinds_test
