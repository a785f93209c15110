// A file that is gone with the process, however that ends: also if it is killed just here, where the file
// system knows files that never had a name. Any thread.
#pragma once

#include <filesystem>

namespace gpushim::analysis {

// Open to read and to write, for the caller to close; -1: none can be made in that folder.
int nameless_file(const std::filesystem::path& folder);

}  // namespace gpushim::analysis
