// Hashes in the place of names, for reports that others are to see. One thread.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace gpushim::analysis {

// "kernel-0123456789ab": the same on every machine. It hides a name from a reader; who guesses one can check
// the guess.
std::string hashed(std::string_view kind, std::string_view text);

// From here on what is told on stderr has no names of these files and folders, nor of what lies in them.
void hide_names_of(std::span<const std::string> files_or_folders);
std::string without_hidden_names(std::string text);

}  // namespace gpushim::analysis
