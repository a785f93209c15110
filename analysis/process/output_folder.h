// Where traces of a pattern of GPUSHIM_OUT go, before any is there.
#pragma once

#include <filesystem>
#include <string>

namespace gpushim::analysis {

// The folder itself where one is named that is there, or the name ends in a slash; where its name is itself a
// pattern, the one above it.
inline std::filesystem::path output_folder(const std::string& pattern) {
    std::error_code none;
    if (std::filesystem::is_directory(pattern, none)) return pattern;
    const auto folder = std::filesystem::path(pattern.substr(0, pattern.find('%'))).parent_path();
    return folder.empty() ? std::filesystem::path(".") : folder;
}

}  // namespace gpushim::analysis
