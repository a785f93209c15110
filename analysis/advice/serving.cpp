#include "serving.h"

#include <algorithm>
#include <string>

#include "../trace/work_bound.h"

namespace gpushim::analysis {

namespace {

constexpr std::string_view kIdleNames[] = {
    "no_request", "between_iterations", "read_back",  "graph_miss", "eager_decode", "launching",
    "compiling",  "graph_update",       "allocation", "copies",     "waiting",      "other"};
static_assert(std::size(kIdleNames) == static_cast<size_t>(ServingIdle::count));

size_t place_of(const std::string& why) {
    const auto at = std::find(std::begin(kIdleNames), std::end(kIdleNames), why);
    return std::min(static_cast<size_t>(at - std::begin(kIdleNames)), std::size(kIdleNames) - 1);
}

}  // namespace

std::string_view name_of(ServingIdle why) { return kIdleNames[static_cast<size_t>(why)]; }

Serving::Serving(sqlite3* run) {
    Query serves(run, file_of(run), "SELECT EXISTS (SELECT 1 FROM program WHERE kind = 'serving')");
    is_so_ = serves.step() && serves.number(0) != 0;
    if (!is_so_) return;
    Query kinds(run, file_of(run),
                "SELECT sum(kind = 'prefill'), sum(kind IN ('decode', 'mixed')),"
                " sum(kind IN ('decode', 'mixed') AND graphs = 0) FROM v_iteration");
    if (kinds.step()) {
        prefills_ = kinds.maybe(0).value_or(0);
        decodes_ = kinds.maybe(1).value_or(0);
        without_graph_ = kinds.maybe(2).value_or(0);
    }
    Query marks(run, file_of(run), "SELECT EXISTS (SELECT 1 FROM quiet)");
    marks_requests_ = marks.step() && marks.number(0) != 0;
    Query idle(run, file_of(run), "SELECT gpu_id, step, why, ns FROM v_serving_idle");
    while (idle.step()) idle_[{idle.number(0), idle.number(1)}][place_of(idle.text(2))] += idle.real(3);
}

double Serving::sum_ns(ServingIdle why) const {
    double sum = 0;
    for (const auto& [step, sums] : idle_) sum += sums[static_cast<size_t>(why)];
    return sum;
}

bool Serving::lacks_graphs() const {
    return sum_ns(ServingIdle::graph_miss) + sum_ns(ServingIdle::eager_decode) >
           sum_ns(ServingIdle::launching);
}

double Serving::ns(const GpuInStep& gpu, ServingIdle why) const {
    const auto sums = idle_.find({gpu.gpu_id, gpu.step});
    return sums == idle_.end() ? 0 : sums->second[static_cast<size_t>(why)];
}

Gain Serving::without(const WhatIf& what_if, ServingIdle why) const {
    return what_if.shorter([&](const GpuInStep& gpu) {
        // Where code is loaded, the host compiles: a prompt of a new length, for one.
        if (gpu.loads_code && why == ServingIdle::between_iterations) return Gain{};
        return without_idle(gpu, ns(gpu, why));
    });
}

}  // namespace gpushim::analysis
