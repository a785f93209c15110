// What older GPUs lack, by their names.
#include "analysis/kernel/generation.h"

#include <catch2/catch.hpp>

namespace generation_test {

using namespace gpushim::analysis;

TEST_CASE("older GPUs are known by the words of their names", "[kernel][generation]") {
    for (const char* name : {"Tesla V100-SXM2-16GB", "NVIDIA GeForce RTX 2080 Ti", "Tesla T4",
                             "NVIDIA TITAN V", "NVIDIA TITAN RTX", "Quadro RTX 6000"})
        CHECK(tensor_cores_of(name) == TensorCores::only_fp16);
    for (const char* name :
         {"NVIDIA GeForce GTX 1080 Ti", "Tesla P100-PCIE-16GB", "Tesla K80", "Tesla P4", "Tesla P6",
          "Tesla M4", "Tesla M6", "Tesla M10", "Tesla K20Xm", "Tesla K20c", "Tesla K40c", "Tesla K10",
          "Quadro P5000 with Max-Q Design", "Quadro M2000", "Quadro K6000", "Quadro GP100",
          "NVIDIA GeForce GT 1030", "NVIDIA GeForce GTX TITAN Black"})
        CHECK(tensor_cores_of(name) == TensorCores::none);
    for (const char* name :
         {"NVIDIA A100-SXM4-80GB", "NVIDIA RTX 6000 Ada Generation", "NVIDIA GeForce RTX 3090", "NVIDIA L4",
          "NVIDIA RTX A4500", "AMD Instinct MI300X", "NVIDIA T400", "V100X", "",
          "NVIDIA RTX 2000 Ada Generation", "NVIDIA RTX PRO 4000", "Quadro GV100X", "Quadro P",
          "Quadro P5000X", "GT"})
        CHECK(tensor_cores_of(name) == TensorCores::not_known);
}

}  // namespace generation_test
