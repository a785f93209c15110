// A file that is made beside its place, and moved there when it is whole.
#pragma once

#include <filesystem>

namespace gpushim::analysis {

// Empty, new and for its owner alone: where others may write, too, a name that they could know might be a
// link that leads elsewhere. There is no link in its path. Throws Failure, which names the place.
std::filesystem::path new_file_beside(const std::filesystem::path& place);

}  // namespace gpushim::analysis
