// Which rank the others wait for, from window to window: one window on a busy machine may show any of them,
// so a rank has to be the slowest in the newest two. Pure; one thread.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

namespace gpushim::analysis {

class SlowestRank {
  public:
    // `window`: another number for each; asked again of one, the answer counts once. Empty: nobody.
    void see(uint64_t window, const std::string& trace) {
        if (window == window_) {
            newest_ = trace;
            return;
        }
        window_ = window;
        before_ = std::exchange(newest_, trace);
    }
    bool is_agreed() const { return !newest_.empty() && newest_ == before_; }

  private:
    uint64_t window_ = 0;  // none yet
    std::string newest_, before_;
};

}  // namespace gpushim::analysis
