#include "reach.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <sstream>

namespace gpushim::analysis {

namespace fs = std::filesystem;

namespace {

struct File {
    explicit File(const std::string& path)
        : descriptor(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {}
    ~File() {
        if (descriptor >= 0) close(descriptor);
    }
    template <class T>
    bool read_at(T& to, uint64_t offset) const {
        return pread(descriptor, &to, sizeof to, static_cast<off_t>(offset)) == sizeof to;
    }
    int descriptor;
};

// A program without an interpreter of its own (the dynamic loader) loads nothing.
bool has_loader(const File& file, const Elf64_Ehdr& header) {
    Elf64_Phdr segment;
    for (unsigned i = 0; i < header.e_phnum; ++i)
        if (file.read_at(segment, header.e_phoff + i * sizeof segment) && segment.p_type == PT_INTERP)
            return true;
    return false;
}

}  // namespace

std::string found_on_path(const std::string& name) {
    if (name.find('/') != std::string::npos) return name;
    const char* path = std::getenv("PATH");
    std::stringstream folders(path != nullptr ? path : "");
    for (std::string folder; std::getline(folders, folder, ':');)
        if (access((fs::path(folder) / name).c_str(), X_OK) == 0) return fs::path(folder) / name;
    return "";
}

Reach reach_of(const std::string& path) {
    const File file(path);
    struct stat status;
    Elf64_Ehdr header;
    if (file.descriptor < 0 || fstat(file.descriptor, &status) != 0)
        return {false, path + ": " + strerror(errno)};
    if ((status.st_mode & (S_ISUID | S_ISGID)) != 0)
        return {false, path + " is setuid or setgid: the loader ignores a preload"};
    if (fgetxattr(file.descriptor, "security.capability", nullptr, 0) > 0)
        return {false, path + " has capabilities of its own: the loader ignores a preload"};
    if (!file.read_at(header, 0) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0)
        return {true, path + " (a script: its interpreter is traced)"};
    if (header.e_ident[EI_CLASS] != ELFCLASS64)
        return {false, path + " is a 32-bit program: the library is 64-bit"};
    if (!has_loader(file, header)) return {false, path + " is linked statically: no preload reaches it"};
    return {true, path};
}

}  // namespace gpushim::analysis
