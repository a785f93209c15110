// A disk that is as good as full.
#pragma once

#include <sys/resource.h>

#include <csignal>

namespace made {

// No file of this process grows beyond so many bytes: as if the disk were full.
class FilesAtMost {
  public:
    explicit FilesAtMost(rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
        getrlimit(RLIMIT_FSIZE, &before_);
        const rlimit least = {bytes, before_.rlim_max};
        setrlimit(RLIMIT_FSIZE, &least);
    }
    ~FilesAtMost() {
        setrlimit(RLIMIT_FSIZE, &before_);
        std::signal(SIGXFSZ, handler_);
    }
    FilesAtMost(const FilesAtMost&) = delete;
    FilesAtMost& operator=(const FilesAtMost&) = delete;

  private:
    void (*handler_)(int);
    rlimit before_ = {};
};

}  // namespace made
