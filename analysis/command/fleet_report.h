// The answers about a fleet (fleet.db, which scripts/fleet writes), as text, as JSON and as a page: what was
// seen of it, what idle GPUs cost, which are slow again and again, and what changed since when.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace gpushim::analysis {

// Prints; returns the exit code: 3 where ranks are missing or files could not be read. Throws Failure.
int report_fleet(const std::filesystem::path& folder, bool as_json, const std::optional<std::string>& page);

}  // namespace gpushim::analysis
