// A file that is gone with the process, however that ends. Any thread.
#pragma once

#include <filesystem>

namespace gpushim::analysis {

// Open to read and to write, for the caller to close; -1: none can be made in that folder.
int nameless_file(const std::filesystem::path& folder);

}  // namespace gpushim::analysis
