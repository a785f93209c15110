#include "hang_alarm.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <utility>

#include "../base/config.h"
#include "../base/log.h"
#include "../base/time_units.h"
#include "../ring/rings.h"
#include "../schema/rows.h"
#include "activity.h"
#include "hang_command.h"
#include "silence.h"
#include "verdict.h"

namespace gpushim::shim {
namespace {

constexpr int64_t kNeverNs = INT64_MAX;
constexpr int64_t kLookEveryNs = 1'000 * kMillisecond;
constexpr int kMostRows = 64;  // of a process that hangs and goes on, again and again

constinit const TraceIdentity* whose = nullptr;
constinit const char* whose_trace = "";
constinit bool hangs_now = false;

class HangAlarm : public Observer {
  public:
    int64_t look(const Moment& now) override {
        // At the end only to say that it came to one.
        if (now.ending && !silence_.has_said()) return kNeverNs;
        if (!now.ending && now.mono_ns - looked_ns_ < kLookEveryNs) return kLookEveryNs;
        looked_ns_ = now.mono_ns;
        const Activity::Seen seen = activity_.look(all_rings(), now.mono_ns);
        // Outside the chosen part of a run calls are not recorded.
        const auto said = silence_.look({now.mono_ns, seen.has_moved || !recording(), !seen.waiting.empty()});
        note_half_time(seen);
        if (said == Silence::Said::hangs) sound(now, seen);
        if (said == Silence::Said::goes_on) go_on(now.mono_ns);
        hangs_now = silence_.has_said();
        return kLookEveryNs;
    }
    std::span<Rows* const> rows() override { return all_rows_; }

  private:
    // What a thread runs from then on tells whether it spins or sleeps.
    void note_half_time(const Activity::Seen& seen) {
        const bool is_past = silence_.for_ns() >= silence_.limit_ns() / 2;
        if (is_past && half_time_cpu_ns_.empty())
            for (const WaitingCall& call : seen.waiting)
                half_time_cpu_ns_[call.tid] = cpu_ns_of_thread(call.tid);
        if (!is_past) half_time_cpu_ns_.clear();
    }

    void sound(const Moment& now, const Activity::Seen& seen) {
        Verdict verdict = {
            whose->pid,          whose->rank,
            whose->host,         whose->job,
            whose_trace,         now.real_ns,
            silence_.for_ns(),   silence_.limit_ns(),
            silence_.usual_ns(), look_at_stuck(seen.waiting, config.python != PythonLines::off)};
        for (StuckThread& thread : verdict.threads) count_from_half_time(thread);
        const auto waits = [](const StuckThread& thread) { return thread.call != nullptr; };
        const auto stopped = [](const StuckThread& thread) { return thread.is_stopped(); };
        // Somebody looks at it in a debugger, or the thread that was inside is gone.
        if (std::ranges::any_of(verdict.threads, stopped) || std::ranges::none_of(verdict.threads, waits))
            return silence_.forget_alarm();
        log_line(LogLevel::warn, "%s", line_of(verdict).c_str());
        add_rows(now.mono_ns, verdict);
        run_command(verdict);
    }

    void count_from_half_time(StuckThread& thread) const {
        const auto before = half_time_cpu_ns_.find(thread.tid);
        const bool is_known =
            before != half_time_cpu_ns_.end() && before->second != kNull && thread.cpu_ns != kNull;
        thread.cpu_ns = is_known ? thread.cpu_ns - before->second : kNull;
    }

    void go_on(int64_t now_ns) {
        log_line(LogLevel::warn, "no hang any more: it went on after %.0f s",
                 static_cast<double>(silence_.before_ns()) * 1e-9);
        add_row(now_ns, true, silence_.before_ns());
    }

    void run_command(const Verdict& verdict) {
        if (config.on_hang[0] == '\0' || std::exchange(has_run_, true)) return;
        if (const int error = run_on_hang(json_of(verdict)); error != 0)
            log_line(LogLevel::warn, "GPUSHIM_ON_HANG: the command could not be started (%s)",
                     strerror(error));
    }

    bool add_row(int64_t now_ns, bool over, int64_t for_ns) {
        if (added_ == kMostRows) return false;
        ++added_;
        hangs_.add({.mono_ns = now_ns,
                    .over = over,
                    .for_ns = for_ns,
                    .limit_ns = silence_.limit_ns(),
                    .usual_ns = silence_.usual_ns() == 0 ? kNull : silence_.usual_ns()});
        return true;
    }

    void add_rows(int64_t now_ns, const Verdict& verdict) {
        if (!add_row(now_ns, false, verdict.for_ns)) return;
        const auto text = [this](std::string_view what) {
            return what.empty() ? kNull : threads_.text(what);
        };
        const auto word = [&](const char* what) { return what == nullptr ? kNull : threads_.text(what); };
        for (const StuckThread& thread : verdict.threads)
            threads_.add({.mono_ns = now_ns,
                          .tid = thread.tid,
                          .name = text(thread.name),
                          .call = word(thread.call),
                          .call_ns = thread.call_ns,
                          .state = text({&thread.state, 1}),
                          .blocked_on = word(thread.blocked_on),
                          .wchan = text(thread.wchan),
                          .cpu_ns = thread.cpu_ns,
                          .native = thread.native.empty() ? kNull : threads_.text(thread.native.front()),
                          .python = text(python_text(thread.python)),
                          .native_stack = text(native_text(thread))});
    }

    Activity activity_;
    Silence silence_{static_cast<int64_t>(config.hang_after_s * 1e9)};
    std::map<int32_t, int64_t> half_time_cpu_ns_;
    int64_t looked_ns_ = INT64_MIN / 2;
    int added_ = 0;
    bool has_run_ = false;
    RowsOf<row::hang> hangs_;
    RowsOf<row::hang_thread> threads_;
    std::array<Rows*, 2> all_rows_ = {&hangs_, &threads_};
};

}  // namespace

void alarm_speaks_for(const TraceIdentity& identity, const char* trace_path) {
    whose = &identity;
    whose_trace = trace_path;
}

bool process_hangs() { return hangs_now; }

std::unique_ptr<Observer> make_hang_alarm(std::span<const Device>) {
    hangs_now = false;  // of a process that this one was forked from
    if (config.hang_after_s <= 0 || whose == nullptr) return nullptr;
    return std::make_unique<HangAlarm>();
}

}  // namespace gpushim::shim
