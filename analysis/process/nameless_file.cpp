#include "nameless_file.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cstdlib>
#include <string>

#include "unfinished.h"

namespace gpushim::analysis {

int nameless_file(const std::filesystem::path& folder) {
    const std::filesystem::path in = folder.empty() ? std::filesystem::path(".") : folder;
    int file = open(in.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, S_IRUSR | S_IWUSR);
    if (file >= 0) return file;
    const Unfinished has_a_name_until_here([&] {
        std::string name = (in / "gpushim-rest-XXXXXX").string();
        file = mkostemp(name.data(), O_CLOEXEC);
        return file < 0 ? std::string() : name;
    });
    return file;
}

}  // namespace gpushim::analysis
