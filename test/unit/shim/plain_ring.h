// A ring in plain memory, of a thread that has told nothing, with recording switched on around it.
#pragma once

#include <memory>

#include "shim/ring/recorder.h"

namespace gpushim::shim {

class PlainRing {
  public:
    explicit PlainRing(uint32_t slots)
        : header_(new RingHeader()), slots_(new Slot[slots]()), before_(process_state) {
        page_.doing = kRecording;
        page_.generation = 1;
        process_state = &page_;
        thread_state = {};
        thread_state.ring = header_.get();
        thread_state.slots = slots_.get();
        thread_state.mask = slots - 1;
        thread_state.generation = 1;
    }
    ~PlainRing() {
        process_state = before_;
        thread_state = {};
    }
    PlainRing(const PlainRing&) = delete;
    PlainRing& operator=(const PlainRing&) = delete;

    RingHeader& header() const { return *header_; }
    uint64_t count() const { return header_->head; }
    const Slot& slot(size_t i) const { return slots_[i]; }
    ProcessState& page() { return page_; }

  private:
    std::unique_ptr<RingHeader> header_;
    std::unique_ptr<Slot[]> slots_;
    ProcessState* before_;
    ProcessState page_ = {};
};

}  // namespace gpushim::shim
