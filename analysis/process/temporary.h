// A folder of our own in the temporary folder, gone with the object or the process.
#pragma once

#include "unfinished.h"

namespace gpushim::analysis {

class TemporaryFolder {
  public:
    TemporaryFolder();  // throws Failure
    const std::filesystem::path& path() const { return folder_.path(); }

  private:
    Unfinished folder_;
};

}  // namespace gpushim::analysis
