// All observers (observer.h), as one. The writer's thread only.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "../machine/device.h"
#include "../rows/observer.h"

namespace gpushim::shim {

class Observers {
  public:
    explicit Observers(std::span<const Device> devices);

    // How long it may be until the next look.
    int64_t look(const Moment& now);
    // Rows for the next transaction. Valid until the next look.
    std::span<Rows* const> rows();
    bool have_rows();
    // It is in the trace, with all rows().
    void stored(std::span<const Event> events, std::span<const TimedOperation> timed);
    // Rows that were given up since then, because nothing could be written for long.
    uint64_t left_out() const { return left_out_; }

    static constexpr size_t kMostRows = 16384;  // that wait, of a table

  private:
    void give_up_oldest();

    std::vector<std::unique_ptr<Observer>> all_;
    std::vector<Rows*> rows_;
    uint64_t left_out_ = 0;
};

}  // namespace gpushim::shim
