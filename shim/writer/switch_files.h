// Files that people make beside a trace while it is written: while gpushim.off is there nothing is recorded,
// while gpushim.keep is there what is written is worth keeping (kept_slots.h). Looked for once a second, by
// the trace's clock. The writer's thread only.
#pragma once

#include <cstdint>
#include <string>

namespace gpushim::shim {

class SwitchFiles {
  public:
    explicit SwitchFiles(const char* trace_path);

    // How long it may be until the next look.
    int64_t look(int64_t now_ns);
    bool is_off() const { return is_off_; }
    bool keeps() const { return keeps_; }

    static constexpr int64_t kEveryNs = 900'000'000;  // obeyed within a second, passes being 80 ms apart

  private:
    std::string folder_;
    int64_t next_ns_ = INT64_MIN;
    bool is_off_ = false;
    bool keeps_ = false;
};

}  // namespace gpushim::shim
