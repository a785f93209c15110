// Our use of CUPTI: its one subscriber, the kinds of records we ask for, and reading what came. While we hold
// it nobody else in the process can subscribe; whoever tries is told so by CUPTI (error 39). Opened once,
// never closed: what was enabled costs until the process ends, also between the steps that were asked for.
// Taking CUPTI out of a process that works (cuptiFinalize) is safe only from within its callbacks, and with
// its records switched off without that a process stays slower. A step that fails undoes those before it. The
// driver's thread (driver_thread.h).
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "cupti_library.h"
#include "cupti_record.h"

namespace gpushim::shim {

class CuptiSession {
  public:
    // False: not to be had; refused() and error() say why.
    bool open();

    // Asks for what is over, `all`: also for what is not, for the last time. Then reads it. Names are of
    // nodes only, and ours: they stay.
    void read(std::vector<DeviceRecord>& records, bool all);

    const std::string& refused() const { return refused_; }
    int64_t error() const { return error_; }  // CUptiResult; kNull: none
    const CuptiLibrary& library() const { return library_; }
    uint64_t dropped() const { return dropped_; }  // records, by CUPTI
    // How far CUPTI's clock may be from where we take it to be.
    int64_t clock_error_ns() const { return clock_error_ns_; }

  private:
    bool enable();
    bool enable_callbacks();
    bool subscribe();
    void undo();
    bool refuse(const std::string& why, int64_t error);
    bool check(const char* call, CUptiResult result);
    void look_at_clock();
    bool is_same_clock(int64_t theirs_ns, int64_t offset_ns) const;
    void read_buffer(const uint8_t* buffer, size_t bytes, std::vector<DeviceRecord>& records);
    const char* kept_name(const char* name);

    CuptiLibrary library_;
    CUpti_SubscriberHandle subscriber_ = nullptr;
    bool has_offset_ = false;
    int64_t offset_ns_ = 0;  // from CUPTI's clock to ours …
    int64_t looked_ns_ = 0;  // … as it was seen then
    int64_t clock_error_ns_ = 0;
    uint64_t dropped_ = 0;
    std::set<std::string, std::less<>> names_;
    std::string refused_;
    int64_t error_;
};

}  // namespace gpushim::shim
