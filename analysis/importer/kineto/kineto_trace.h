// A Kineto file as a trace of our schema. What the file does not say is not recorded. Throws Failure where
// there is nothing to read or nothing can be written. One thread.
#pragma once

#include <filesystem>
#include <string>

#include "../trace_writer.h"
#include "kineto_reader.h"

namespace gpushim::analysis {

ImportedFile import_kineto(const std::string& file, const std::filesystem::path& trace, bool numbers_count);

}  // namespace gpushim::analysis
