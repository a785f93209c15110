// Runs as they are compared, made by hand: steps of so many ns that wave around it, and what they are made
// of.
#pragma once

#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "analysis/compare/side.h"

namespace made {

using namespace gpushim::analysis;

// `count` steps around middle_ns; neighbours are alike (correlation `memory`), with a standard deviation of
// `noise` of it.
inline std::vector<int64_t> waves(double middle_ns, double noise, uint64_t seed, size_t count = 400,
                                  double memory = 0.9) {
    std::mt19937_64 random(seed);
    std::normal_distribution<double> fresh;
    std::vector<int64_t> steps;
    double state = fresh(random);
    for (size_t i = 0; i < count; ++i) {
        steps.push_back(std::llround(middle_ns * (1 + noise * state)));
        state = memory * state + std::sqrt(1 - memory * memory) * fresh(random);
    }
    return steps;
}

inline StepGroup group(std::vector<int64_t> lengths_ns, std::map<std::string, double> parts_ns = {},
                       std::optional<int64_t> signature = {}) {
    StepGroup made;
    made.signature = signature;
    made.count = static_cast<int64_t>(lengths_ns.size());
    made.lengths_ns = std::move(lengths_ns);
    if (!parts_ns.empty()) made.split = StepSplit{std::move(parts_ns)};
    return made;
}

inline Side side(const std::string& name, std::vector<int64_t> lengths_ns,
                 std::map<std::string, double> parts_ns = {}, const std::string& gpu = "H100") {
    Side made;
    made.name = name;
    made.traces = {name};
    made.gpus = made.ranks_seen = 1;
    made.around = {{"GPU", "", gpu}, {"GPUs", "", "1"}};
    made.groups = {group(lengths_ns, parts_ns), group(lengths_ns, parts_ns, 7)};
    return made;
}

}  // namespace made
