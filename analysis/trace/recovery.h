// What killed processes left in their rings goes into their traces before anybody reads them; where the trace
// must not be written to, into a copy that lives as long as this object. Why something could not be recovered
// is said on stderr.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "../process/temporary.h"

namespace gpushim::analysis {

class Recovery {
  public:
    Recovery() = default;  // of traces that no process has written
    explicit Recovery(std::span<const std::string> traces_or_folders);

    std::filesystem::path file_of(const std::filesystem::path& trace) const;  // itself, or its copy
    bool complete() const { return failures_.empty(); }

  private:
    void copy(const std::filesystem::path& trace);

    std::unique_ptr<TemporaryFolder> folder_;
    std::map<std::filesystem::path, std::filesystem::path> copies_;
    std::vector<std::string> failures_;
};

}  // namespace gpushim::analysis
