// The writer's descriptors and the program's. Best they are in two tables: then what the program closes is
// not ours, and what it waits to see closed we do not hold. Where the kernel refuses that, or a sanitizer
// would misread it, we look before each transaction whether ours are still what they were, and within it at
// each use (own_files.h). The writer's thread only.
#pragma once

#include <sys/types.h>

#include <optional>
#include <vector>

namespace gpushim::shim {

// A table of our own, empty. False: not to be had; the program's is still ours.
bool leave_descriptors();

// Whether the calling thread has done so.
bool has_own_descriptors();

// Whether it did, and could not.
bool shares_descriptors();

// A file that we have opened, wherever another may close it.
struct OwnFile {
    int descriptor;
    dev_t device;
    ino_t inode;
    bool is_still() const;
};
std::optional<OwnFile> own_file(int descriptor);

// The descriptors of a file and of those whose names begin with its path.
class WatchedFiles {
  public:
    void watch(const char* path);
    // Each is still the file that it was: nobody has closed it and opened another under its number.
    bool are_intact() const;

  private:
    std::vector<OwnFile> files_;
};

}  // namespace gpushim::shim
