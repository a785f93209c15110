// What `report` and `analyze` work on: a run database that is there, or one made now from traces.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "../process/temporary.h"
#include "../run/pass/facts.h"
#include "../trace/inputs.h"
#include "../trace/recovery.h"

namespace gpushim::analysis {

struct RunSource {
    std::unique_ptr<Recovery> recovery;                // null: nothing was to be recovered
    std::optional<Inputs> traces;                      // none: only the run database is there
    std::unique_ptr<const TemporaryFolder> temporary;  // what `run` is in where it could not be beside them
    std::filesystem::path place;
    Database run;

    bool complete() const {
        return (!recovery || recovery->complete()) && (!traces || traces->refused.empty());
    }
};

// A run database that is given alone, or a folder that has one and no traces. None: the words mean traces.
std::optional<Database> run_given(const std::vector<std::string>& words);

// Where the run database of these files or folders goes unless somebody says otherwise.
std::filesystem::path place_beside(const std::vector<std::string>& words);

// place: where the run database goes. None: beside the traces; where that cannot be written, into a temporary
// file that is gone with the answer, which is said on stderr. Throws Failure.
RunSource open_run(const std::vector<std::string>& words, const RunOptions& options,
                   const std::optional<std::filesystem::path>& place);

}  // namespace gpushim::analysis
