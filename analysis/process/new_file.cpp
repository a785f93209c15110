#include "new_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <system_error>

#include "../failure.h"

namespace gpushim::analysis {

namespace fs = std::filesystem;

fs::path new_file_beside(const fs::path& place) {
    std::error_code none;  // what cannot be made is told below
    const fs::path folder = fs::absolute(place, none).parent_path(), real = fs::canonical(folder, none);
    std::string name = ((none ? folder : real) / place.filename()).string() + ".new.XXXXXX";
    const int file = mkostemp(name.data(), O_CLOEXEC);
    if (file < 0) throw Failure(place.string() + ": " + std::strerror(errno), kIncomplete);
    close(file);
    return name;
}

}  // namespace gpushim::analysis
