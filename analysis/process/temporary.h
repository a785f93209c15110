// A folder of our own in the temporary folder, gone with the object.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

#include "../failure.h"

namespace gpushim::analysis {

class TemporaryFolder {
  public:
    TemporaryFolder() {
        std::string name = (std::filesystem::temp_directory_path() / "gpushim-XXXXXX").string();
        if (mkdtemp(name.data()) == nullptr)
            throw Failure(name + ": no temporary folder to be had", kIncomplete);
        path_ = name;
    }
    ~TemporaryFolder() {
        std::error_code ignored;  // what is left in the temporary folder harms nobody
        std::filesystem::remove_all(path_, ignored);
    }
    TemporaryFolder(const TemporaryFolder&) = delete;
    TemporaryFolder& operator=(const TemporaryFolder&) = delete;
    const std::filesystem::path& path() const { return path_; }

  private:
    std::filesystem::path path_;
};

}  // namespace gpushim::analysis
