#include "nameless_file.h"

#include <fcntl.h>

#include <cstdlib>
#include <string>

#include "unfinished.h"

namespace gpushim::analysis {

int nameless_file(const std::filesystem::path& folder) {
    int file = -1;
    const Unfinished has_a_name_until_here([&] {
        std::string name = (folder / "gpushim-rest-XXXXXX").string();
        file = mkostemp(name.data(), O_CLOEXEC);
        return file < 0 ? std::string() : name;
    });
    return file;
}

}  // namespace gpushim::analysis
