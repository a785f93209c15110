#include "network_file_system.h"

#include <sys/vfs.h>

#include <cstdint>
#include <string>

#include "protection.h"

namespace gpushim::shim {
namespace {

constexpr uint32_t kNetworkFileSystems[] = {
    0x6969,      // NFS
    0x517b,      // SMB
    0xff534d42,  // CIFS
    0xfe534d42,  // SMB 2
    0x0bd00bd0,  // Lustre
    0x47504653,  // GPFS
    0x00c36400,  // Ceph
    0x5346414f,  // AFS
    0x01021997,  // 9P
    0x65735546,  // FUSE: any of them may be behind it
    0x19830326,  // BeeGFS
    0xaad7aaea,  // PanFS
};

}  // namespace

bool is_network_file_system(const char* path) {
    if (!kept(Protection::no_log_on_network)) return false;
    std::string folder(path);
    const size_t slash = folder.rfind('/');
    folder = slash == std::string::npos ? "." : folder.substr(0, slash + 1);
    struct statfs facts;
    if (statfs(folder.c_str(), &facts) != 0) return false;
    for (const uint32_t magic : kNetworkFileSystems)
        if (static_cast<uint32_t>(facts.f_type) == magic) return true;
    return false;
}

}  // namespace gpushim::shim
