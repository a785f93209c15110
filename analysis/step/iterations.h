// Whether a program trains or serves a language model, and of one that serves what it does over and over. An
// iteration is what the host submits until it has read back what was sampled; what follows without a model's
// work in it (a second read-back, a look at a counter) is of the same.
//
//   tokens       h g s   h g s   h k k k k s   h g s   s        g: a graph, s: the host waits
//   iterations   |1──────|2──────|3────────────|4────────…
//   kinds         decode  decode  prefill       decode
//
// A wait for a copy to the device is no read-back. Without names, a prefill is told by how many tokens come
// in for each that is sampled, or by larger grids; a server without graphs by what it samples coming in
// again, or staying on the device.
//
// Lengths vary as requests do, so a period of the whole run is not looked for (period.h): what an iteration
// holds says what it is. Pure; a small value is kept for each iteration.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "steps.h"
#include "stretches.h"

namespace gpushim::analysis {

enum class Program : uint8_t { not_known, training, serving };
// eager: no graph, no name and nothing that comes in tells whether it is a prefill or a decode, and others
// are graphs.
enum class IterationKind : uint8_t { other, prefill, decode, mixed, eager };

struct Iteration {
    IterationKind kind = IterationKind::other;
    // Alike: the same graphs, or the same kernels without one; a batch size, if each has a graph. Numbered
    // from 0 as they are met; -1: there are more than kMostClasses.
    int32_t of_class = -1;
    int64_t graphs = 0, launches = 0;  // of these, launched without a graph
};
constexpr size_t kMostClasses = 64;

struct Served {
    Program program = Program::not_known;
    double confidence = 0;
    std::string why;
    // A prompt begins a batch, and the one before has ended: nobody who changes a batch leaves its tokens on
    // the device.
    bool do_batches_end = false;
    size_t iterations = 0;  // as many as there are; of a single one nothing tells the ends
    Steps found;            // source "none": it does not serve, or nothing shows where its iterations begin
};

// `asked`: what a person says of the program. `has_served`: its kernels' names say that it does.
Served find_iterations(const Survey& survey, std::optional<Program> asked, bool has_served);

// What each step holds, by begin; steps do not overlap.
std::vector<Iteration> look_into(const TokenSource& source, const std::vector<Step>& steps);

std::string_view name_of(Program program);
std::string_view name_of(IterationKind kind);

}  // namespace gpushim::analysis
