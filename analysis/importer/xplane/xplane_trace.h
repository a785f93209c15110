// An XPlane file of TensorFlow's or JAX's profiler, which is one host, as a trace of our schema. What the
// file does not say is not recorded. Throws Failure where there is no GPU in it or nothing can be written.
// One thread.
#pragma once

#include <filesystem>
#include <string>

#include "../trace_writer.h"

namespace gpushim::analysis {

ImportedFile import_xplane(const std::string& file, const std::filesystem::path& place, bool numbers_count);

}  // namespace gpushim::analysis
