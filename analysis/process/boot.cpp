#include "boot.h"

#include <fstream>

namespace gpushim::analysis {

std::string boot_id() {
    std::string id;
    std::ifstream("/proc/sys/kernel/random/boot_id") >> id;
    std::erase(id, '-');
    return id;
}

}  // namespace gpushim::analysis
