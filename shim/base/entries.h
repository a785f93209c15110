// The entries of a folder by name, without those that begin with a dot. Any thread.
#pragma once

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

namespace gpushim::shim {

class File {
  public:
    explicit File(int descriptor) : descriptor_(descriptor) {}
    ~File() {
        if (descriptor_ >= 0) close(descriptor_);
    }
    File(const File&) = delete;
    File& operator=(const File&) = delete;
    explicit operator bool() const { return descriptor_ >= 0; }
    operator int() const { return descriptor_; }
    void give_away() { descriptor_ = -1; }

  private:
    int descriptor_;
};

// Throws where it cannot be read: an empty folder of rings would be removed.
inline std::vector<std::string> names_in(int folder) {
    File copy(openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    const std::unique_ptr<DIR, int (*)(DIR*)> entries(copy ? fdopendir(copy) : nullptr, closedir);
    if (entries == nullptr) throw std::system_error(errno, std::generic_category(), "a folder");
    copy.give_away();
    std::vector<std::string> names;
    while (const dirent* entry = readdir(entries.get()))
        if (entry->d_name[0] != '.') names.emplace_back(entry->d_name);
    std::sort(names.begin(), names.end());
    return names;
}

}  // namespace gpushim::shim
