// What the name of a range, an operator or a Python frame tells of the thread that is in it. Pure; any
// thread.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "../trace/host_inside.h"
#include "../trace/loading_stage.h"

namespace gpushim::analysis {

struct HostTold {
    std::optional<HostInside>
        inside;  // none: nothing of the framework; a program's own range may hold anything
    LoadingStage stage = LoadingStage::untold;  // in a loader
};
HostTold told_by(std::string_view name);

// The same, once for each name. One thread.
class HostWords {
  public:
    HostTold told(std::string_view name);

  private:
    static constexpr size_t kMost = 100'000;
    struct Hash : std::hash<std::string_view> {
        using is_transparent = void;
    };
    std::unordered_map<std::string, HostTold, Hash, std::equal_to<>> known_;
};

// What PyTorch's profiler, loaders and optimizers mark themselves, by a number or a name behind a '#'.
bool is_mark(std::string_view name);

// Whose name an operator is, where profilers of several frameworks write one format: tensorflow, jax; empty:
// it is not told.
std::string_view framework_of(std::string_view name);

}  // namespace gpushim::analysis
