// Waits of the host for the GPU in every step, or, where there are no steps, again and again, for the rules
// that tell why it waits. One thread.
#pragma once

#include <optional>
#include <vector>

#include "../advice/rule.h"

namespace gpushim::analysis {

struct Waits {
    bool read = false;      // behind a copy of something small to the host, each time
    double reads = 0;       // so often in a step
    double read_bytes = 0;  // of one such copy
    Gain gain;              // the step without them
    std::vector<Evidence> evidence;
};
std::optional<Waits> waits_of_every_step(const Situation& run);

// The program scales its loss by a factor that it corrects as it goes, by its kernels' names: each step asks
// whether gradients were finite.
bool scales_loss_dynamically(const Situation& run);

}  // namespace gpushim::analysis
