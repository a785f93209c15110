#include "capture_range.h"

#include "../base/config.h"
#include "../base/log.h"
#include "../ring/ticks.h"
#include "markers.h"

namespace gpushim::shim {
namespace {

constinit std::atomic<int64_t> step = 0;  // that the program is in; 0: it has not said yet
constinit std::atomic<bool> is_profiled = false;
constinit std::atomic<bool> is_time = false;
constinit std::atomic<bool> is_off = false;
constinit std::atomic<int64_t> started_ns = 0;

bool asks_for_steps() { return config.steps.count != 0 || config.schedule.active != 0; }

bool is_scheduled(const Schedule& schedule, int64_t number) {
    if (schedule.active == 0) return true;
    const int64_t left_out = schedule.wait + schedule.warmup;
    const int64_t cycle = (number - 1) / (left_out + schedule.active);
    const int64_t place = (number - 1) % (left_out + schedule.active);
    return place >= left_out && (schedule.repeat == 0 || cycle < schedule.repeat);
}

constexpr int64_t kNever = INT64_MAX;

int64_t nanoseconds(double seconds) { return seconds < 1e9 ? static_cast<int64_t>(seconds * 1e9) : kNever; }

int64_t begin_ns() { return nanoseconds(config.delay_s); }
int64_t end_ns() { return config.duration_s < 0 ? kNever : nanoseconds(config.delay_s + config.duration_s); }

bool is_in_time(int64_t passed_ns) { return passed_ns >= begin_ns() && passed_ns < end_ns(); }

bool is_wanted() {
    const int64_t number = step.load();
    // Who never says so has no steps: then all is recorded.
    const bool is_step = number == 0 || is_wanted_step(config.steps, config.schedule, number);
    return !is_off.load() && is_time.load() && is_step &&
           (config.capture == CaptureRange::all || is_profiled.load());
}

// The range decides what is timed: all of it, and nothing that the hooks knew of a stream before still holds.
void begin_to_time() {
    const uint64_t now = ticks();
    process_state->resumed.store(now);
    if (!is_range_asked()) return;
    process_state->window_from.store(now);
    process_state->window_until.store(UINT64_MAX);
    if (config.device_time != DeviceTime::off) process_state->timing.store(1);
}

// Whoever changes the state says so. The mark lies within what is recorded, and so does what is timed: a
// thread that sees that it is to record sees since when.
void settle(bool begins_anew) {
    if (is_wanted()) {
        if (!resting() && !(begins_anew && recording())) return;
        begin_to_time();
        if (!become(kResting, kRecording) && !(begins_anew && recording())) return;
        record_marker(Marker::resume);
    } else if (become(kRecording, kResting)) {
        record_marker(Marker::rest);
    }
}

}  // namespace

bool is_wanted_step(const Ranges& steps, const Schedule& schedule, int64_t number) {
    return steps.has(number) && is_scheduled(schedule, number);
}

Doing open_range(int64_t now_ns) {
    step.store(0);
    is_profiled.store(false);
    is_off.store(false);
    started_ns.store(now_ns);
    is_time.store(is_in_time(0));
    if (is_wanted()) return kRecording;
    record_marker(Marker::rest);
    return kResting;
}

void step_begins() {
    if (!is_written() || !asks_for_steps()) return;
    settle(step.fetch_add(1) == 0);
}

void profiler_turned(bool on) {
    is_profiled.store(on);
    if (is_written() && config.capture == CaptureRange::profiler) settle(false);
}

void switched_off(bool off) {
    if (is_off.exchange(off) != off && is_written()) settle(false);
}

int64_t time_passes(int64_t now_ns) {
    if (begin_ns() == 0 && end_ns() == kNever) return kNever;
    const int64_t passed_ns = now_ns - started_ns.load();
    is_time.store(is_in_time(passed_ns));
    settle(false);
    if (passed_ns < begin_ns()) return begin_ns() - passed_ns;
    return passed_ns < end_ns() ? end_ns() - passed_ns : kNever;
}

bool is_range_asked() {
    return config.capture == CaptureRange::profiler || (asks_for_steps() && step.load() != 0);
}

void say_what_was_not_asked() {
    if (!asks_for_steps() || step.load() != 0) return;
    log_line(LogLevel::warn,
             "no step was marked (gpushim_step, NVTX), so all of them are recorded; "
             "gpushim report can leave some out");
}

}  // namespace gpushim::shim
