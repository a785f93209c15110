// What each rank of a communicator costs the others where compute goes on beside collectives: its instances,
// as the traces say when each was ready, replayed without one rank after the other (skew/replay.h). One
// thread.
#pragma once

#include <vector>

#include "../collectives/run_communicator.h"

namespace gpushim::analysis {

class RunDb;

// By instance and rank; a row is empty where it is not known. Empty: the traces do not say what waits for
// what.
std::vector<std::vector<int64_t>> replayed_savings(const RunCommunicator& comm, const RunDb& run);

}  // namespace gpushim::analysis
