// What profilers say of a collective, in NCCL's words. Pure; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace gpushim::analysis {

// "_allgather_base", "nccl:all_reduce": the function of NCCL that it is; empty: none we know.
std::string_view api_of_collective(std::string_view word);
// Of a kernel that no arguments explain: by its name; empty: it is no kernel of NCCL.
std::string_view api_of_kernel(std::string_view kernel);

struct DataType {
    int64_t nccl;  // ncclDataType_t
    int64_t bytes;
};
// Of the same: what its name says; only those that reduce say it.
std::optional<DataType> type_of_kernel(std::string_view kernel);
std::optional<DataType> data_type(std::string_view word);  // "BFloat16"

// What NCCL was passed, of the elements that a profiler tells for the whole of it: of a reduce-scatter the
// part that a rank gets, of an exchange the part for one peer.
std::optional<int64_t> count_passed(std::string_view api, std::optional<int64_t> in,
                                    std::optional<int64_t> out, std::optional<int64_t> ranks);

// "[0, 1, 2]"; empty where some are left out ("...") or it is no such list.
std::vector<int64_t> ranks_in(std::string_view list);

}  // namespace gpushim::analysis
