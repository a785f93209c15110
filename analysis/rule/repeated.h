// Copies that two rules share between them. One thread.
#pragma once

#include "../advice/situation.h"

namespace gpushim::analysis {

// There are several copies in nearly every step besides the batch: rule repeated_copies.
bool copies_come_back(const Situation& run);

}  // namespace gpushim::analysis
