// The file for Prometheus that `gpushim watch --metrics` keeps: replaced as a whole, and gone with this
// process, also where INT, TERM or HUP ends it. One thread.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <string>

#include "../process/unfinished.h"

namespace gpushim::analysis {

class MetricsFile {
  public:
    explicit MetricsFile(std::filesystem::path place, mode_t mode) : place_(std::move(place)), mode_(mode) {}

    // The first time throws Unwritable. Later on the text of before stays, and stderr has one line of it
    // until it could be written again: a disk that is full for a while ends nothing.
    void write(const std::string& text);
    // It stays when this process ends.
    void write_for_good(const std::string& text);

  private:
    std::filesystem::path place_;
    mode_t mode_;
    std::optional<Unfinished> there_;
    bool has_complained_ = false;
};

mode_t mode_of(const std::string& octal);  // throws Failure

}  // namespace gpushim::analysis
