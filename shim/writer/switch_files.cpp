#include "switch_files.h"

#include <unistd.h>

namespace gpushim::shim {
namespace {

std::string folder_of(const std::string& path) {
    const size_t slash = path.rfind('/');
    return slash == std::string::npos ? std::string() : path.substr(0, slash + 1);
}

bool is_there(const std::string& path) { return access(path.c_str(), F_OK) == 0; }

}  // namespace

SwitchFiles::SwitchFiles(const char* trace_path) : folder_(folder_of(trace_path)) {}

int64_t SwitchFiles::look(int64_t now_ns) {
    if (now_ns >= next_ns_) {
        is_off_ = is_there(folder_ + "gpushim.off");
        keeps_ = is_there(folder_ + "gpushim.keep");
        next_ns_ = now_ns + kEveryNs;
    }
    return next_ns_ - now_ns;
}

}  // namespace gpushim::shim
