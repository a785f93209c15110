#include "own_files.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <optional>

#include "descriptors.h"

namespace gpushim::shim {
namespace {

// The usual limit is 1024. Where it is more, the kernel's table would grow for us alone.
constexpr rlim_t kNobodysNumber = 768;

// A trace, its log and its journal, and those of one that is taken in.
constinit std::optional<OwnFile> files[8] = {};

std::optional<OwnFile>* place_of(int descriptor) {
    return std::find_if(std::begin(files), std::end(files),
                        [=](const auto& file) { return file && file->descriptor == descriptor; });
}

int out_of_the_way(int descriptor) {
    rlimit most;
    if (getrlimit(RLIMIT_NOFILE, &most) != 0) return descriptor;
    const rlim_t from = std::min(most.rlim_cur / 4 * 3, kNobodysNumber);
    const int moved = fcntl(descriptor, F_DUPFD_CLOEXEC, static_cast<int>(from));
    if (moved < 0) return descriptor;
    close(descriptor);
    return moved;
}

}  // namespace

int kept_as_ours(int descriptor) {
    if (descriptor < 0 || !shares_descriptors()) return descriptor;
    const int ours = out_of_the_way(descriptor);
    // Under a number that was closed behind our back there may be one of before.
    auto* place = place_of(ours);
    if (place == std::end(files))
        place = std::find_if(std::begin(files), std::end(files), [](const auto& file) { return !file; });
    if (place != std::end(files)) *place = own_file(ours);
    return ours;
}

bool is_ours(int descriptor) {
    const auto* place = place_of(descriptor);
    if (place == std::end(files) || (*place)->is_still()) return true;
    errno = EBADF;
    return false;
}

int close_ours(int descriptor) {
    const bool ours = is_ours(descriptor);
    if (auto* place = place_of(descriptor); place != std::end(files)) place->reset();
    return ours ? close(descriptor) : 0;
}

}  // namespace gpushim::shim
