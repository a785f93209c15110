// The program that was named: whether a preload reaches it at all.
#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <sstream>

#include "check.h"

namespace gpushim::analysis {

namespace {

namespace fs = std::filesystem;

std::string found_on_path(const std::string& name) {
    if (name.find('/') != std::string::npos) return name;
    const char* path = std::getenv("PATH");
    std::stringstream folders(path != nullptr ? path : "");
    for (std::string folder; std::getline(folders, folder, ':');)
        if (access((fs::path(folder) / name).c_str(), X_OK) == 0) return fs::path(folder) / name;
    return "";
}

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

CheckFinding judged(const std::string& path) {
    const File file(path);
    struct stat status;
    Elf64_Ehdr header;
    if (file.descriptor < 0 || fstat(file.descriptor, &status) != 0)
        return {CheckVerdict::blind, "program", path + ": " + strerror(errno)};
    if ((status.st_mode & (S_ISUID | S_ISGID)) != 0)
        return {CheckVerdict::blind, "program", path + " is setuid or setgid: the loader ignores a preload"};
    if (fgetxattr(file.descriptor, "security.capability", nullptr, 0) > 0)
        return {CheckVerdict::blind, "program",
                path + " has capabilities of its own: the loader ignores a preload"};
    if (!file.read_at(header, 0) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0)
        return {CheckVerdict::fine, "program", path + " (a script: its interpreter is traced)"};
    if (header.e_ident[EI_CLASS] != ELFCLASS64)
        return {CheckVerdict::blind, "program", path + " is a 32-bit program: the library is 64-bit"};
    if (!has_loader(file, header))
        return {CheckVerdict::blind, "program", path + " is linked statically: no preload reaches it"};
    return {CheckVerdict::fine, "program", path};
}

void look(const Examined& examined, std::vector<CheckFinding>& findings) {
    if (examined.program.empty()) return;
    const std::string path = found_on_path(examined.program[0]);
    if (path.empty())
        findings.push_back({CheckVerdict::blind, "program", examined.program[0] + ": not found"});
    else
        findings.push_back(judged(path));
}

constexpr Check kCheck = {40, look};
const CheckRegistration kRegistration(kCheck);

}  // namespace

}  // namespace gpushim::analysis
