// What repeated_copies and copies_out share between them: which of the two copies are of. One thread.
#pragma once

#include "../advice/situation.h"

namespace gpushim::analysis {

// There are several copies in nearly every step besides the batch: rule repeated_copies.
bool copies_come_back(const Situation& run);

// At least half as many bytes come back in each step as go out, and at least 1 MB: what goes out may be what
// the host worked on (weights, an optimizer's state), and no batch.
bool reads_back_as_much(const Situation& run);

}  // namespace gpushim::analysis
