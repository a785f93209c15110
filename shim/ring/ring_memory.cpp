#include "ring_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "../base/file_status.h"
#include "../base/protection.h"
#include "../base/system.h"

namespace gpushim::shim {
namespace {

constexpr int kTriesWithFile = 3;  // that somebody else closes in the middle

void* prefaulted(void* memory, size_t bytes) {
    if (memory == MAP_FAILED) return nullptr;
    // Without MADV_POPULATE_WRITE (Linux before 5.14) the first calls take the faults. EFAULT: there is
    // nothing behind a page after all, and a store into it would be a SIGBUS.
    const bool is_empty = madvise(memory, bytes, MADV_POPULATE_WRITE) != 0 && errno == EFAULT;
    if (!is_empty || !kept(Protection::allocated_rings)) return memory;
    munmap(memory, bytes);
    return nullptr;
}

// Beyond its limit the kernel does not only refuse: it sends a signal that ends the program.
bool file_may_have(size_t bytes) {
    rlimit most;
    return getrlimit(RLIMIT_FSIZE, &most) == 0 && bytes <= most.rlim_cur;
}

// A new file in the program's table of descriptors. The program may close it at any time and have a file of
// its own under the number, so each use first looks whether it is still the one at the path. Raw system
// calls: the C library's are cancellation points, and a launch is none.
class NewFile {
  public:
    explicit NewFile(const char* path)
        : descriptor_(static_cast<int>(syscall(SYS_openat, AT_FDCWD, path,
                                               O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600))) {
        // Somebody who clears the folder may have taken the path away.
        if (is_there() && status_of_link(path, &made_) != 0 && status_of(descriptor_, &made_) != 0)
            made_ = {};
    }
    ~NewFile() {
        if (is_ours()) syscall(SYS_close, descriptor_);
    }
    NewFile(const NewFile&) = delete;
    NewFile& operator=(const NewFile&) = delete;

    bool is_there() const { return descriptor_ >= 0; }
    bool is_ours() const {
        if (!kept(Protection::identity_of_rings)) return is_there();
        struct stat now;
        return is_there() && status_of(descriptor_, &now) == 0 && now.st_dev == made_.st_dev &&
               now.st_ino == made_.st_ino;
    }
    // Allocated, not sparse: a full tmpfs is an error here instead of a SIGBUS in the program's thread.
    bool grows_to(size_t bytes) const {
        const auto length = static_cast<long>(bytes);
        if (!is_ours()) return false;
        return kept(Protection::allocated_rings) ? syscall(SYS_fallocate, descriptor_, 0, 0L, length) == 0
                                                 : syscall(SYS_ftruncate, descriptor_, length) == 0;
    }
    void* mapped(size_t bytes) const {
        return is_ours() ? mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor_, 0)
                         : MAP_FAILED;
    }

  private:
    const int descriptor_;
    struct stat made_ = {};
};

}  // namespace

void* private_memory(size_t bytes) {
    return prefaulted(mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
                      bytes);
}

void* file_memory(const char* path, size_t bytes) {
    if (kept(Protection::file_size_limit) && !file_may_have(bytes)) return nullptr;
    for (int tries = 0; tries < kTriesWithFile; ++tries) {
        void* mapped = MAP_FAILED;
        bool was_taken = false;
        {
            const NewFile file(path);
            if (!file.is_there()) return nullptr;
            if (file.grows_to(bytes)) mapped = file.mapped(bytes);
            was_taken = !file.is_ours();
        }
        if (void* memory = prefaulted(mapped, bytes)) return memory;
        syscall(SYS_unlinkat, AT_FDCWD, path, 0);
        if (!was_taken) return nullptr;
    }
    return nullptr;
}

}  // namespace gpushim::shim
