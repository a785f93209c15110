#include "clock_probe.h"

#include <algorithm>
#include <cmath>
#include <ctime>
#include <utility>

#include "../base/rounding.h"
#include "../base/system.h"
#include "../ring/clock.h"

namespace gpushim::shim {
namespace {

constexpr int kTries = 3;
constexpr int kRounds = 4, kUneven = 2;
constexpr int64_t kNarrowNs = 1'000;  // good enough
constexpr int64_t kSpinNs = 30'000;
constexpr int64_t kLongNs = 1'000'000'000;
constexpr int64_t kLateNs = 1'500;
constexpr int64_t kLongWithoutNs = 200'000'000;
constexpr int64_t kPatienceNs = 300'000;         // a device that takes longer has other things to do
constexpr double kFloatShare = 1.0 / (1 << 24);  // elapsed times come as floats
constexpr int64_t kProbeSureNs = 500;

}  // namespace

void let_program_in() {
    constexpr timespec kMoment = {0, 50'000};
    if (process_state->clock_kind != kTestClock) nanosleep(&kMoment, nullptr);
}

CUresult ClockProbe::failed(const char* call, CUresult result) {
    failed_call_ = call;
    return result;
}

CUresult ClockProbe::make() {
    CUstream stream = nullptr;
    CUresult result = calls_->cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING);
    if (result != CUDA_SUCCESS) return failed("cuStreamCreate", result);
    for (CUevent& event : events_) {
        result = calls_->cuEventCreate(&event, CU_EVENT_DEFAULT);
        if (result != CUDA_SUCCESS) return failed("cuEventCreate", result);
    }
    stream_ = stream;
    return CUDA_SUCCESS;
}

CUresult ClockProbe::open(const DriverCalls& calls) {
    calls_ = &calls;
    CUresult result = stream_ != nullptr ? CUDA_SUCCESS : make();
    if (result == CUDA_SUCCESS && !is_calibrated_) result = calibrate();
    return result == CUDA_SUCCESS ? take() : result;
}

// Recorded, then asked for until it is there.
CUresult ClockProbe::see(CUevent event, Seen& seen) {
    const int64_t begun_ns = trace_now_ns();
    CUresult result = calls_->cuEventRecord(event, stream_);
    if (result != CUDA_SUCCESS) return failed("cuEventRecord", result);
    const int64_t returned_ns = trace_now_ns();
    seen = {event, begun_ns, begun_ns, 0, 0, false, 0};
    for (;;) {
        const int64_t asked_ns = trace_now_ns();
        result = calls_->cuEventQuery(event);
        seen.high_ns = trace_now_ns();
        if (result != CUDA_ERROR_NOT_READY) break;
        seen.low_ns = asked_ns;
        if (asked_ns - begun_ns > kPatienceNs) return result;
        // The device has other things to do. What is seen after a sleep is wide.
        if (asked_ns - returned_ns <= kSpinNs) continue;
        seen.is_wide = true;
        let_program_in();
    }
    seen.since_record_ns = seen.high_ns - returned_ns;
    return result == CUDA_SUCCESS ? result : failed("cuEventQuery", result);
}

// What a first, wide one says is too much, and is forgotten when there is a narrow one.
void ClockProbe::learn_idle(const Seen& seen) {
    const int64_t ns = seen.since_record_ns + kProbeSureNs;
    const bool is_narrow = seen.high_ns - seen.low_ns <= kNarrowNs;
    if (is_narrow && std::exchange(is_idle_guessed_, false)) facts_.idle_ns = 0;
    if (!is_narrow && facts_.idle_ns == 0) is_idle_guessed_ = seen.is_wide;
    if (is_narrow || facts_.idle_ns == 0) facts_.idle_ns = std::max(facts_.idle_ns, ns);
}

void ClockProbe::allow_for_delay(Seen& seen) {
    const int64_t took_ns = seen.high_ns - seen.begun_ns;
    seen.late_ns = std::min(delay_.late_ns(took_ns), seen.low_ns - seen.begun_ns);
    seen.low_ns -= seen.late_ns;
    delay_.saw(took_ns);
}

CUresult ClockProbe::take() {
    Seen best = {};
    size_t place = newest_ == kEvents ? 0 : newest_;
    for (int i = 0; i < kTries; ++i) {
        place = (place + 1) % kEvents;
        Seen seen = {};
        const CUresult result = see(events_[place], seen);
        if (result == CUDA_ERROR_NOT_READY) break;
        if (result != CUDA_SUCCESS) return result;
        // Better none than one that makes its neighbours as wide, unless there is none for long.
        if (seen.is_wide && trace_now_ns() - newest_ns_ < kLongNs) break;
        learn_idle(seen);
        allow_for_delay(seen);
        if (best.event == nullptr || seen.high_ns - seen.low_ns < best.high_ns - best.low_ns) best = seen;
        if (best.high_ns - best.low_ns <= kNarrowNs) break;
    }
    if (best.event == nullptr) return CUDA_ERROR_NOT_READY;
    // The next may come when the link is free.
    const bool is_late = best.late_ns > kLateNs && best.high_ns - newest_ns_ < kLongWithoutNs;
    return is_late ? CUDA_ERROR_NOT_READY : add(best);
}

CUresult ClockProbe::add(const Seen& seen) {
    double device_ns = 0;
    if (clock_.has_anchor()) {
        const CUresult result = read(seen.event, device_ns);
        if (result != CUDA_SUCCESS) return result;
    }
    const int64_t rounded_ns = rounding_ns(device_ns);
    clock_.add(device_ns, seen.low_ns - rounded_ns, seen.high_ns + rounded_ns);
    newest_ = static_cast<size_t>(std::find(events_.begin(), events_.end(), seen.event) - events_.begin());
    newest_device_ns_ = device_ns;
    newest_ns_ = seen.high_ns;
    return CUDA_SUCCESS;
}

CUresult ClockProbe::read(CUevent event, double& device_ns) {
    float elapsed_ms = 0;
    const CUresult result = calls_->cuEventElapsedTime(&elapsed_ms, events_[newest_], event);
    if (result != CUDA_SUCCESS) return failed("cuEventElapsedTime", result);
    const double elapsed_ns = static_cast<double>(elapsed_ms) * 1e6;
    grain_.saw(elapsed_ns, std::abs(elapsed_ns) * kFloatShare);
    device_ns = newest_device_ns_ + elapsed_ns;
    return result;
}

int64_t ClockProbe::rounding_ns(double device_ns) const {
    const double float_ns = std::abs(device_ns - newest_device_ns_) * kFloatShare;
    return grain_.ns() + rounded_up(float_ns);
}

// Events back to back.
CUresult ClockProbe::record_round(Round& round) {
    const int64_t begun_ns = trace_now_ns();
    for (size_t i = 0; i < kEvents; ++i) {
        const int64_t asked_ns = trace_now_ns();
        const CUresult result = calls_->cuEventRecord(events_[i], stream_);
        if (result != CUDA_SUCCESS) return failed("cuEventRecord", result);
        round.took_ns[i] = trace_now_ns() - asked_ns;
    }
    CUresult result;
    do {
        result = calls_->cuEventQuery(events_.back());
    } while (result == CUDA_ERROR_NOT_READY && trace_now_ns() - begun_ns < kPatienceNs);
    if (result != CUDA_SUCCESS) return failed("cuEventQuery", result);
    for (size_t i = 0; i + 1 < kEvents; ++i) {
        float elapsed_ms = 0;
        result = calls_->cuEventElapsedTime(&elapsed_ms, events_[i], events_[i + 1]);
        if (result != CUDA_SUCCESS) return failed("cuEventElapsedTime", result);
        round.apart_ns[i] = rounded(static_cast<double>(elapsed_ms) * 1e6);
        grain_.saw(static_cast<double>(round.apart_ns[i]), 0.5);
    }
    // A driver's first ones on a stream can take a hundred times as long: the one in the middle counts.
    std::nth_element(round.took_ns.begin(), round.took_ns.begin() + kEvents / 2, round.took_ns.end());
    std::sort(round.apart_ns.begin(), round.apart_ns.end());
    return CUDA_SUCCESS;
}

// As far apart as one takes on the device, or as recording one takes if that is longer. Where recording one
// took very long, because it was the first or the thread lost its processor, stamps are as far apart, and
// that is nothing that an event takes: an even round is waited for, or the most even one counts.
CUresult ClockProbe::calibrate() {
    Round best = {};
    for (int i = 0; i < kRounds; ++i) {
        Round round = {};
        const CUresult result = record_round(round);
        if (result == CUDA_ERROR_NOT_READY && i > 0) break;
        if (result != CUDA_SUCCESS) return result;
        if (i == 0 || round.apart_ns.back() < best.apart_ns.back()) best = round;
        if (best.apart_ns.back() <= kUneven * best.apart_ns[kEvents / 2]) break;
    }
    record_ns_ = best.took_ns[kEvents / 2];
    facts_.low_ns = best.apart_ns.front();
    facts_.ns = grain_.usual(best.apart_ns);
    facts_.high_ns = best.apart_ns.back();
    // Where recording takes as long, the device may have been done with each at any time before the next.
    if (facts_.ns <= record_ns_ + record_ns_ / 4) facts_.low_ns = 0, facts_.ns /= 2;
    is_calibrated_ = true;
    return CUDA_SUCCESS;
}

void ClockProbe::saw_distance(double device_ns) {
    distances_[distance_count_++ % distances_.size()] = rounded(device_ns);
    if (distance_count_ % distances_.size() != 0) return;
    std::array<int64_t, 64> sorted = distances_;
    std::sort(sorted.begin(), sorted.end());
    const int64_t ns = grain_.usual(sorted);
    if (ns >= facts_.ns || ns <= 0) return;
    facts_.ns = ns;
    facts_.low_ns = std::min(facts_.low_ns, sorted.front());
    facts_.high_ns = std::max(facts_.high_ns, sorted.back());
}

}  // namespace gpushim::shim
