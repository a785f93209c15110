// Whether what was timed of a run without steps is no sample of it: windows that lie in its start, or in a
// pause, say nothing of the rest, however many their operations have times. Told by how many operations were
// launched, which is known of the whole run. One thread.
//
//   launches   · ·  ·   |||||||||||||||||||||||||||||||||||||||||||||
//   windows    |──────|            |─|          an eighth of the run, with a twelfth of its launches
#pragma once

#include <optional>
#include <string>

struct sqlite3;

namespace gpushim::analysis {

struct UnlikeSample {
    double timed_share;               // of the run
    double timed_per_ms, run_per_ms;  // operations that were launched

    std::string text() const;  // "12 % of the run was timed, and that is not like the rest: …"
};

// Of the GPU of which it is most so. None: steps were found, all was timed, or it is like the rest.
std::optional<UnlikeSample> unlike_sample(sqlite3* run);

}  // namespace gpushim::analysis
