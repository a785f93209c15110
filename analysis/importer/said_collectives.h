// Which collective a range of its thread says that a launch is of, by time: profilers of some years call such
// ranges "nccl:all_reduce" and write its tensors beside them, and nothing beside the kernels.
//
//   range     |══nccl:all_reduce══|  |══nccl:broadcast══|
//   launches        | these            | and this one
//
// Bounded: what comes behind kMost is not known. One thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <vector>

namespace gpushim::analysis {

class SaidCollectives {
  public:
    void add(int64_t thread, int64_t start_ns, int64_t end_ns, int32_t collective);
    // That of the innermost range around it.
    std::optional<int32_t> at(int64_t thread, int64_t ns);

  private:
    static constexpr size_t kMost = 1'000'000;

    struct Range {
        int64_t start_ns, end_ns;
        int32_t collective;
    };
    std::map<int64_t, std::vector<Range>> by_thread_;  // once asked, by start
    size_t count_ = 0;
    bool are_sorted_ = true;
};

// "[[384, 2], [4]]": how many elements such tensors have together. None: of one it is not said.
std::optional<int64_t> elements_in(std::string_view dimensions);
// "["float", "float"]": that type; empty: they differ, or there is none.
std::string_view type_in(std::string_view types);

}  // namespace gpushim::analysis
