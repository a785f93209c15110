// Which tensor cores an older GPU has, by its name: the rows of generation.def. Pure; any thread.
#pragma once

#include <cstdint>
#include <string_view>

namespace gpushim::analysis {

enum class TensorCores : uint8_t {
    not_known,  // a newer GPU, or one that is not in the table
    none,
    only_fp16  // of the types of training: not bfloat16, not TF32
};
[[nodiscard]] TensorCores tensor_cores_of(std::string_view gpu_name);

}  // namespace gpushim::analysis
