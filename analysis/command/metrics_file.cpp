#include "metrics_file.h"

#include <sys/stat.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include "../failure.h"
#include "../process/new_file.h"

namespace gpushim::analysis {

void MetricsFile::write_for_good(const std::string& text) {
    NewFile file(place_);
    std::ofstream to(file.path(), std::ios::binary);
    to << text << std::flush;
    if (!to || chmod(file.path().c_str(), mode_) != 0)
        throw Unwritable(place_.string() + ": " + std::strerror(errno));
    file.move_to_place();
}

void MetricsFile::write(const std::string& text) {
    try {
        write_for_good(text);
        has_complained_ = false;
    } catch (const Unwritable& failure) {
        if (!there_) throw;
        if (!has_complained_)
            std::fprintf(stderr, "gpushim: cannot write %s; it is tried again\n", failure.what());
        has_complained_ = true;
        return;
    }
    if (!there_) there_.emplace([&] { return place_.string(); });
}

mode_t mode_of(const std::string& octal) {
    char* end = nullptr;
    const unsigned long mode = std::strtoul(octal.c_str(), &end, 8);
    constexpr unsigned long kMost = 0666, kLeast = 0600;
    if (octal.empty() || octal[0] < '0' || octal[0] > '7' || *end != '\0' || (mode & ~kMost) != 0 ||
        (mode & kLeast) != kLeast)
        throw Failure("--metrics-mode " + octal + ": octal digits like 640 or 644 were expected");
    return static_cast<mode_t>(mode);
}

}  // namespace gpushim::analysis
