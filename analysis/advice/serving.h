// Of a run whose program serves a language model: why its GPUs were idle in each iteration, as v_serving_idle
// says it, and what removing that would save. Empty of all others. Read-only; one thread.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string_view>
#include <utility>

#include "../idle/cause.h"
#include "what_if.h"

struct sqlite3;

namespace gpushim::analysis {

// What graph_miss, eager_decode and launching are made of.
inline constexpr Causes kLaunching = {"launch_call", "launch_bound", "launch_latency",
                                      "kernel_gap",  "framework",    "python"};

enum class ServingIdle : uint8_t {
    no_request,
    between_iterations,
    read_back,
    graph_miss,
    eager_decode,
    launching,
    compiling,
    graph_update,
    allocation,
    copies,
    waiting,
    other,
    count
};
std::string_view name_of(ServingIdle why);  // as the view has it

class Serving {
  public:
    explicit Serving(sqlite3* run);

    bool is_so() const { return is_so_; }
    bool has_iterations() const { return decodes_ + prefills_ > 0; }
    int64_t prefills() const { return prefills_; }
    int64_t decodes() const { return decodes_; }  // not eager ones, which may be prefills
    int64_t decodes_without_graph() const { return without_graph_; }
    // Most of what the GPU waits for launches is in decodes without a graph: what other rules say of
    // launching would be the same time.
    bool lacks_graphs() const;
    bool marks_requests() const { return marks_requests_; }  // so no_request is measured
    bool has_usual_graphs() const { return without_graph_ * 2 < decodes_; }

    // Low: each gap keeps a launch's latency, and only what was idle for sure counts.
    Gain without(const WhatIf& what_if, ServingIdle why) const;
    double ns(const GpuInStep& gpu, ServingIdle why) const;

  private:
    double sum_ns(ServingIdle why) const;
    using Sums = std::array<double, static_cast<size_t>(ServingIdle::count)>;
    std::map<std::pair<int64_t, int64_t>, Sums> idle_;  // by gpu_id, step
    bool is_so_ = false, marks_requests_ = false;
    int64_t prefills_ = 0, decodes_ = 0, without_graph_ = 0;
};

}  // namespace gpushim::analysis
