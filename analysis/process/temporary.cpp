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
        throw Unwritable(std::string("no temporary folder: TMPDIR is ") + (named ? named : "not set") +
                         ", and that is no folder; set it to one that can be written");
    }
    std::string name = (in / "gpushim-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr)
        throw Unwritable(in.string() + ": no temporary folder can be made in it: " + std::strerror(errno) +
                         "; TMPDIR may name another place");
    return name;
}

}  // namespace

TemporaryFolder::TemporaryFolder() : folder_(new_folder) {}

}  // namespace gpushim::analysis
