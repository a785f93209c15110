// A SQLite export of Nsight Systems (nsys export --type sqlite) as traces of our schema: one for each process
// that called CUDA. Versions of nsys differ in tables and columns: those that are there are taken, what the
// others would say is not recorded. Throws Failure where there is nothing to read or nothing can be written.
// One thread.
#pragma once

#include <filesystem>
#include <string>

#include "../trace_writer.h"

namespace gpushim::analysis {

// The first is `place`, others have the process's number before its .db.
ImportedFile import_nsys(const std::string& file, const std::filesystem::path& place, bool numbers_count);

}  // namespace gpushim::analysis
