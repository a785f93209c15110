// A file or folder that must not outlive this process: it goes with the object, and also where INT, TERM or
// HUP ends the process, which then ends by that signal. A folder may hold files, no folders. From any thread.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <functional>
#include <string>

namespace gpushim::analysis {

class Unfinished {
  public:
    // make: creates it and returns its path; empty: it could not be made, and nothing is to be removed. No
    // signal comes between its creation and its entry in the list of what is to go.
    explicit Unfinished(const std::function<std::string()>& make);
    ~Unfinished();
    Unfinished(const Unfinished&) = delete;
    Unfinished& operator=(const Unfinished&) = delete;

    const std::filesystem::path& path() const { return path_; }

  private:
    std::filesystem::path path_;
    pid_t owner_ = 0;             // a child of it has a copy, and nothing to remove
    Unfinished* next_ = nullptr;  // the list, read by the signal handler
    Unfinished* before_ = nullptr;

    friend struct UnfinishedList;
};

}  // namespace gpushim::analysis
