// What repeated_copies and copies_out share between them: which of the two copies are of. One thread.
#pragma once

#include "../advice/situation.h"

namespace gpushim::analysis {

// There are several copies in nearly every step besides the batch: rule repeated_copies.
bool copies_come_back(const Situation& run);

}  // namespace gpushim::analysis
