#include "temporary.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "../failure.h"

namespace gpushim::analysis {

namespace fs = std::filesystem;

namespace {

std::string new_folder() {
    std::error_code none;
    const fs::path in = fs::temp_directory_path(none);
    if (none) {
        const char* const named = std::getenv("TMPDIR");
        throw Unwritable(std::string("there is no temporary folder: TMPDIR is ") +
                         (named ? named : "not set") +
                         ", which is not a folder; set it to one that can be written");
    }
    std::string name = (in / "gpushim-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr)
        throw Unwritable(in.string() + ": cannot make a temporary folder in it: " + std::strerror(errno) +
                         "; set TMPDIR to another folder");
    return name;
}

}  // namespace

TemporaryFolder::TemporaryFolder() : folder_(new_folder) {}

}  // namespace gpushim::analysis
