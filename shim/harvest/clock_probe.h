// Ties one context's device clock to the host's: events on a stream of our own, polled until their stamp
// shows. Also finds out what an event itself takes. The driver's thread (driver_thread.h) only, with the
// context current.
#pragma once

#include <array>
#include <cstdint>

#include "anchor_delay.h"
#include "clock_grain.h"
#include "clock_model.h"
#include "driver_calls.h"
#include "time_bounds.h"

namespace gpushim::shim {

// Our calls take the driver's lock: between many of them it is free for a moment. Not on the test clock.
void let_program_in();

class ClockProbe {
  public:
    // The stream and its events, and what an event takes. CUDA_ERROR_NOT_READY: the device was too busy to
    // say, again later. Any other result but success: failed_call() says of what.
    CUresult open(const DriverCalls& calls);
    bool is_open() const { return is_calibrated_ && clock_.has_anchor(); }

    // CUDA_ERROR_NOT_READY: the device was too busy to say.
    CUresult take();

    // When an event was stamped, on the device's clock.
    CUresult read(CUevent event, double& device_ns);
    // What was read just now may be off by so much: elapsed times are floats, and stamps have a grain.
    int64_t rounding_ns(double device_ns) const;
    int64_t grain_ns() const { return grain_.is_known() ? grain_.ns() : kNull; }

    const ClockModel& clock() const { return clock_; }
    int64_t newest_ns() const { return newest_ns_; }  // when, on the host
    const EventFacts& event_facts() const { return facts_; }
    int64_t record_ns() const { return record_ns_; }
    const char* failed_call() const { return failed_call_; }

    // Of two events one right after the other, while the stream was never empty.
    void saw_distance(double device_ns);

  private:
    struct Seen {
        CUevent event;
        int64_t begun_ns;  // recording it
        int64_t low_ns;
        int64_t high_ns;
        int64_t since_record_ns;
        bool is_wide;
        int64_t late_ns;  // before `low_ns` as it was looked for
    };
    static constexpr size_t kEvents = 8;
    CUresult failed(const char* call, CUresult result);
    CUresult make();
    struct Round {
        std::array<int64_t, kEvents> took_ns;       // recording each
        std::array<int64_t, kEvents - 1> apart_ns;  // their stamps; sorted
    };
    CUresult calibrate();
    CUresult record_round(Round& round);
    CUresult see(CUevent event, Seen& seen);
    CUresult add(const Seen& seen);
    void learn_idle(const Seen& seen);
    void allow_for_delay(Seen& seen);

    const DriverCalls* calls_ = nullptr;
    CUstream stream_ = nullptr;
    bool is_calibrated_ = false;
    bool is_idle_guessed_ = false;
    std::array<CUevent, kEvents> events_ = {};
    size_t newest_ = kEvents;  // none
    double newest_device_ns_ = 0;
    int64_t newest_ns_ = INT64_MIN / 2;
    ClockModel clock_;
    ClockGrain grain_;
    AnchorDelay delay_;
    EventFacts facts_ = {};
    int64_t record_ns_ = 0;
    std::array<int64_t, 64> distances_ = {};
    size_t distance_count_ = 0;
    const char* failed_call_ = "";
};

}  // namespace gpushim::shim
