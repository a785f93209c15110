#include "followed_trace.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "../failure.h"
#include "../process/boot.h"
#include "../run/pass/facts.h"
#include "../sqlite/plain_tables.h"
#include "../trace/event_tables.h"
#include "../trace/plausible.h"
#include "../trace/work_bound.h"
#include "newest_window.h"

namespace gpushim::analysis {

namespace fs = std::filesystem;

namespace {

constexpr int64_t kSecondNs = 1'000'000'000;
constexpr int64_t kCostOfNs = 10 * kSecondNs;
// Rows of ranges come when these end, by their begin: so far back may stand one that is new.
constexpr int64_t kLateNs = 5 * kSecondNs;
constexpr int64_t kQuietNs = 5 * kSecondNs;
constexpr size_t kMostPaces = 16;

int64_t clock_ns(clockid_t clock) {
    timespec now;
    clock_gettime(clock, &now);
    return int64_t{now.tv_sec} * kSecondNs + now.tv_nsec;
}

// Field 22 of /proc/PID/stat; the second may hold any characters, and ends with the last bracket. -1: there
// is no such process, or it has ended and only its parent has not asked yet how.
int64_t start_ticks_of(int64_t pid) {
    std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
    std::string text((std::istreambuf_iterator<char>(file)), {});
    const size_t bracket = text.rfind(')');
    if (bracket == std::string::npos) return -1;
    std::istringstream fields(text.substr(bracket + 1));
    std::string field;
    for (int i = 3; i <= 22; ++i) {
        fields >> field;
        if (i == 3 && (field == "Z" || field == "X")) return -1;
    }
    return std::atoll(field.c_str());
}

// A trace is made as a plain file, and gets its log a moment later. False where the file system does not say.
bool is_young(const fs::path& path, const Moment& now) {
    struct statx status = {};
    if (statx(AT_FDCWD, path.c_str(), 0, STATX_BTIME, &status) != 0 || (status.stx_mask & STATX_BTIME) == 0)
        return false;
    return now.real_ns - int64_t{status.stx_btime.tv_sec} * kSecondNs < 5 * kSecondNs;
}

std::optional<std::string> why_not_followed(const fs::path& path, const Moment& now) {
    constexpr std::streamoff kReadVersion = 19;  // place in a SQLite file: 2 says that changes come by a -wal
    std::ifstream bytes(path, std::ios::binary);
    bytes.seekg(kReadVersion);
    const bool by_wal = bytes.get() == 2;
    std::error_code none;
    if (!by_wal && fs::exists(path.string() + "-journal", none))
        return is_young(path, now)
                   ? "it is being made"
                   : "it is on a network file system: reading it now would keep its writer waiting";
    const fs::path folder = path.parent_path().empty() ? fs::path(".") : path.parent_path();
    if (by_wal && fs::exists(path.string() + "-wal", none) && access(folder.c_str(), W_OK) != 0)
        return "its folder may not be written to, which SQLite needs to read it while it grows";
    return {};
}

}  // namespace

Moment this_moment() { return {clock_ns(CLOCK_MONOTONIC), clock_ns(CLOCK_REALTIME), boot_id()}; }

FollowedTrace::Written FollowedTrace::written_now() const {
    const auto ns = [](const struct stat& status) {
        return int64_t{status.st_mtim.tv_sec} * kSecondNs + status.st_mtim.tv_nsec;
    };
    struct stat file = {}, log = {};
    stat(path_.c_str(), &file);  // fails: all is 0
    stat((path_.string() + "-wal").c_str(), &log);
    return {ns(file), int64_t{file.st_size}, ns(log), int64_t{log.st_size}};
}

bool FollowedTrace::read(const Moment& now) {
    struct stat status;
    if (stat(path_.c_str(), &status) != 0) return false;
    if (inode_ != 0 && (status.st_ino != inode_ || status.st_dev != device_)) return false;
    inode_ = status.st_ino;
    device_ = status.st_dev;
    const Written written = written_now();
    // Times of files are some milliseconds coarse: what was written just now may be written again within
    // them.
    const bool is_settled = now.real_ns - std::max(written.file_ns, written.log_ns) > kSecondNs;
    if (written == written_ && is_settled && why_.empty()) return true;
    written_ = is_settled ? written : Written();
    try {
        if (const auto why = why_not_followed(path_, now)) throw Failure(*why);
        Database base(path_);
        require_plain_tables(base);
        bound_work(base);
        if (!is_known_) read_identity(base);
        read_news(base);
        read_calls(base);
        read_steps(base);
        read_cost(base);
        read_nvml(base);
        why_.clear();
    } catch (const Failure& failure) {
        why_ = failure.what();
    }
    return true;
}

void FollowedTrace::read_identity(const Database& base) {
    if (base.schema_version() == 0) throw Failure("not a trace of gpushim");
    if (base.is_of_first_schema()) throw Failure("of a version whose traces cannot be followed");
    Query process =
        base.prepare("SELECT pid, start_ticks, rank, world_size, run_key, executable FROM process");
    if (!process.step()) throw Failure("it is still empty");
    pid_ = process.number(0);
    start_ticks_ = process.number(1);
    rank_ = process.maybe(2);
    world_size_ = process.maybe(3);
    run_key_ = process.text(4);
    program_ = process.text(5);
    Query meta = base.prepare("SELECT key, value FROM meta");
    while (meta.step()) {
        const std::string key = meta.text(0);
        if (key == "host") host_ = meta.text(1);
        if (key == "job") job_ = meta.text(1);
        if (key == "pod") pod_ = meta.text(1);
        if (key == "boot_id") boot_id_ = meta.text(1);
        if (key == "script") program_ = meta.text(1);
        if (key == "clock") has_own_clock_ = meta.text(1) == "test";
        if (key == "started_real_ns") started_real_ns_ = plausible_time(meta.number(1));
        if (key == "uuid" && run_key_.empty()) run_key_ = "pid " + std::to_string(pid_) + " " + meta.text(1);
    }
    is_known_ = true;
}

void FollowedTrace::read_news(const Database& base) {
    Query clock = base.prepare("SELECT mono_ns, real_ns FROM clock ORDER BY mono_ns DESC LIMIT 1");
    if (clock.step()) {
        const int64_t mono_ns = plausible_time(clock.number(0));
        news_ns_ = std::max(news_ns_, mono_ns);
        real_minus_mono_ns_ = plausible_time(clock.number(1)) - mono_ns;
    }
    Query mark = base.prepare("SELECT max(watermark_ns) FROM ring_commit");
    if (mark.step()) news_ns_ = std::max(news_ns_, plausible_time(mark.number(0)));
    Query ended = base.prepare("SELECT value FROM meta WHERE key = 'ended'");
    ended_ = ended.step() ? ended.text(0) : "";
    Query drops = base.prepare(
        "SELECT sum(events) FROM (SELECT max(events) AS events FROM \"drop\" GROUP BY ring_id, reason)");
    dropped_ = drops.step() ? drops.number(0) : 0;
    Query devices =
        base.prepare("SELECT id, uuid, name FROM device WHERE id IN (SELECT device_id FROM context)");
    while (devices.step()) {
        GpuNow& gpu = gpus_[devices.number(0)];
        gpu.device_id = devices.number(0);
        gpu.uuid = devices.text(1);
        gpu.name = devices.text(2);
        gpu.is_simulated = is_simulated(gpu.name);
    }
    window_ns_ = newest_window_of(base);
}

void FollowedTrace::read_calls(const Database& base) {
    for (const EventTable& table : event_tables_of(base)) {
        if (std::string_view(table.name) == "marker") continue;  // has no duration, and is made by no call
        Query last = base.prepare("SELECT enter_ns, coalesce(dur_ns, 0) FROM \"" + std::string(table.name) +
                                  "\" ORDER BY enter_ns DESC LIMIT 1");
        if (last.step())
            call_ns_ = std::max(call_ns_, plausible_time(last.number(0)) + plausible_span(last.number(1)));
    }
}

// Rows that stand for several are old ones.
void FollowedTrace::read_steps(const Database& base) {
    Query rows = base.prepare(
        "SELECT enter_ns, thread_id, source, sum_ns FROM step_total WHERE enter_ns > ?1 AND steps = 1"
        " ORDER BY enter_ns");
    rows.bind(1, std::max(step_ns_ - kLateNs, news_ns_ - 6 * kCostOfNs));
    while (rows.step()) {
        const int64_t at_ns = plausible_time(rows.number(0));
        const PaceKey key(rows.number(1), rows.text(2));
        if (!paces_.contains(key) && paces_.size() >= kMostPaces) continue;
        StepPace& pace = paces_[key].steps;
        if (key.second == "mark")
            pace.mark(at_ns);
        else if (!rows.is_null(3))
            pace.add(at_ns, plausible_span(rows.number(3)));
        step_ns_ = std::max(step_ns_, at_ns);
    }
    follow_changes(base);
}

void FollowedTrace::follow_changes(const Database& base) {
    for (auto& [key, pace] : paces_) {
        pace.steps.take_settled(news_ns_ - kLateNs, [&changes = pace.changes](int64_t at_ns, int64_t ns) {
            changes.add(at_ns, ns);
        });
        const auto& newest = pace.changes.newest();
        if (!newest || newest->at_ns == pace.counted_ns) continue;
        Query before = base.prepare(
            "SELECT sum(steps) FROM step_total WHERE enter_ns < ?1 AND thread_id = ?2 AND source = ?3");
        before.bind(1, newest->at_ns);
        before.bind(2, key.first);
        before.bind(3, key.second);
        pace.step = before.step() ? before.number(0) : 0;
        pace.counted_ns = newest->at_ns;
    }
}

void FollowedTrace::read_cost(const Database& base) {
    Query rows = base.prepare(
        "SELECT mono_ns, span_ns, busiest_ns, writer_cpu_ns FROM cost WHERE mono_ns > ?1 ORDER BY mono_ns");
    rows.bind(1, std::max(cost_ns_, news_ns_ - kCostOfNs));
    while (rows.step()) {
        cost_ns_ = plausible_time(rows.number(0));
        costs_.push_back({cost_ns_, plausible_span(rows.number(1)), plausible_span(rows.number(2)),
                          plausible_span(rows.number(3))});
    }
    std::erase_if(costs_, [&](const CostRow& row) { return row.mono_ns <= cost_ns_ - kCostOfNs; });
}

void FollowedTrace::read_nvml(const Database& base) {
    Query rows =
        base.prepare("SELECT mono_ns, device_id, key, value FROM nvml WHERE mono_ns > ?1 ORDER BY mono_ns");
    rows.bind(1, std::max(nvml_ns_, news_ns_ - kCostOfNs));
    while (rows.step()) {
        nvml_ns_ = std::max(nvml_ns_, plausible_time(rows.number(0)));
        const auto gpu = gpus_.find(rows.number(1));
        if (gpu == gpus_.end()) continue;
        const std::string key = rows.text(2);
        const auto take = [&](const char* name, std::optional<double>& figure) {
            if (key == name) figure = rows.maybe_real(3);
        };
        take("memory_used_bytes", gpu->second.memory_used_bytes);
        take("memory_total_bytes", gpu->second.memory_total_bytes);
        take("power_mw", gpu->second.power_mw);
        take("power_limit_mw", gpu->second.power_limit_mw);
        take("temperature_c", gpu->second.temperature_c);
        take("sm_mhz", gpu->second.sm_mhz);
    }
}

std::optional<int64_t> FollowedTrace::age_ns(int64_t mono_ns, const Moment& now) const {
    if (has_own_clock_ || mono_ns == 0) return {};
    const bool is_here = boot_id_ == now.boot_id;
    return std::max<int64_t>(0,
                             is_here ? now.mono_ns - mono_ns : now.real_ns - mono_ns - real_minus_mono_ns_);
}

bool FollowedTrace::process_lives(const Moment& now) const {
    return boot_id_ != now.boot_id || start_ticks_of(pid_) == start_ticks_;
}

RankState FollowedTrace::state_of(const RankNow& rank, const Moment& now, bool is_traced) const {
    if (!why_.empty()) return RankState::unreadable;
    if (ended_ == "exit") return RankState::ended;
    if (ended_ == "recovered") return RankState::died;
    // In a container processes have other numbers: whose trace grows lives.
    const bool has_news = rank.news_age_ns && *rank.news_age_ns < kQuietNs;
    if (!is_traced && !has_news && !process_lives(now)) return RankState::died;
    if (rank.news_age_ns && !has_news) return RankState::silent;
    if (rank.call_age_ns && *rank.call_age_ns >= kQuietNs) return RankState::quiet;
    return RankState::running;
}

// Of several threads that mark steps the one that marks most; marks before ranges.
FollowedTrace::Pace* FollowedTrace::main_pace() {
    Pace* most = nullptr;
    bool has_marks = false;
    for (auto& [key, pace] : paces_) {
        const bool is_mark = key.second == "mark";
        const bool is_better = most == nullptr || is_mark > has_marks ||
                               (is_mark == has_marks && pace.steps.size() > most->steps.size());
        if (!is_better) continue;
        most = &pace;
        has_marks = is_mark;
    }
    return most;
}

RankNow FollowedTrace::figures(const Moment& now, bool is_traced) {
    RankNow rank;
    rank.trace = path_.string();
    rank.host = host_;
    rank.job = job_;
    rank.pod = pod_;
    rank.rank = rank_;
    rank.pid = pid_;
    rank.label = rank_ ? std::to_string(*rank_) : is_known_ ? "p" + std::to_string(pid_) : "?";
    rank.news_age_ns = age_ns(news_ns_, now);
    rank.call_age_ns = age_ns(call_ns_, now);
    rank.why = why_;
    rank.state = state_of(rank, now, is_traced);
    if (Pace* const pace = main_pace()) {
        // Of a rank that has ended or hangs: as it was at its end. On a clock of its own that is now.
        const int64_t age_of_news_ns = rank.news_age_ns.value_or(0);
        const bool is_over = rank.state == RankState::ended || rank.state == RankState::died;
        rank.pace = pace->steps.at(news_ns_ + (is_over ? 0 : age_of_news_ns));
        rank.change = pace->changes.newest();
        rank.changed_step = pace->step;
        if (rank.change) rank.changed_real_ns = rank.change->at_ns + real_minus_mono_ns_;
    }
    int64_t span_ns = 0, busiest_ns = 0, writer_ns = 0;
    for (const CostRow& row : costs_) {
        span_ns += row.span_ns;
        busiest_ns += row.busiest_ns;
        writer_ns += row.writer_ns;
    }
    if (span_ns > 0) {
        rank.own_share = static_cast<double>(busiest_ns) / static_cast<double>(span_ns);
        rank.writer_share = static_cast<double>(writer_ns) / static_cast<double>(span_ns);
    }
    rank.dropped = dropped_;
    for (const auto& [device, gpu] : gpus_) rank.gpus.push_back(gpu);
    return rank;
}

}  // namespace gpushim::analysis
