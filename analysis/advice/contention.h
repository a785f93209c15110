// Idle time in which the thread that launches could run and had no processor: it lies within several causes,
// and only one rule may count it. One thread.
#pragma once

#include <optional>

#include "../idle/cause.h"
#include "situation.h"

namespace gpushim::analysis {

// Of a mean step that counts, on the GPU with most of it; of these causes only, or of all. By samples.
double contended_ns(const Situation& run, std::optional<Causes> causes = {});

// What is left of a gain by these causes without it: that is host_contention's.
Gain without_contention(const Situation& run, Causes causes, const Gain& gain);

}  // namespace gpushim::analysis
