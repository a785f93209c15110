// What a communicator is called that no trace names: its ranks are inferred (../collectives/inferred_group).
// Reports say so where they find the name in a run. Any thread.
#pragma once

#include <string_view>

namespace gpushim::analysis {

inline constexpr std::string_view kInferredGroup = "all ranks (inferred)";

}  // namespace gpushim::analysis
