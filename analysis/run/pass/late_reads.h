// A server that reads the tokens of an iteration while the next one runs: what it launches in one of its
// steps runs in that and in the next one, behind which its tokens are read.
//
//   host   |launch 2, read 1|launch 3, read 2|launch 4, read 3|     what the reads end in: 1, 2, 3
//   GPU    ──1──|─────2─────────|──3──|──4──
//
// One thread.
#pragma once

#include "facts.h"

namespace gpushim::analysis {

// Gives each step the kind of what its read-back waited for, where nearly all end before the last work that
// was launched in them does.
void follow_late_reads(TraceFacts& facts);

}  // namespace gpushim::analysis
