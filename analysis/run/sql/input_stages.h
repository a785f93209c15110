// In which stages of loading a batch the hosts were while GPUs were idle for input (view v_input_stage).
// Read-only; one thread.
#pragma once

#include <string>
#include <vector>

#include "../../trace/loading_stage.h"

struct sqlite3;

namespace gpushim::analysis {

struct InputStage {
    LoadingStage stage;
    double share;  // of idle time for input, of all GPUs, in windows
};

// The largest first. Empty: nothing tells, or the run was written before there was such a table.
std::vector<InputStage> input_stages(sqlite3* run);

// "decoding 62 %, reading files or the network 21 %, what nothing tells 17 %", without those below a
// twentieth; empty: nothing is worth a word.
std::string text_of(const std::vector<InputStage>& stages);

}  // namespace gpushim::analysis
