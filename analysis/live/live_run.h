// The newest run of a folder while it runs: its traces as they come, grow and end, and how its GPUs spent the
// newest windows. Those are read on a thread of their own, so a look takes milliseconds; it is started when
// windows are there that were not. One thread calls.
#pragma once

#include <atomic>
#include <filesystem>
#include <list>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>

#include "followed_trace.h"
#include "newest_window.h"
#include "parts_course.h"
#include "slowest_rank.h"

namespace gpushim::analysis {

class LiveRun {
  public:
    explicit LiveRun(std::filesystem::path folder) : folder_(std::move(folder)) {}
    ~LiveRun();
    LiveRun(const LiveRun&) = delete;
    LiveRun& operator=(const LiveRun&) = delete;

    RunNow look();
    void wait_for_windows();  // those that are there now: for a caller that looks only once

  private:
    using WindowBegins = std::map<std::filesystem::path, int64_t>;  // of the newest window of each trace

    void find_traces(RunNow& run);
    void choose_newest_run(RunNow& run);
    void read_windows_of(WindowBegins begins);
    void keep_course();
    void start_reading(const Moment& now);
    RankNow rank_of(FollowedTrace& trace, const Moment& now, const std::set<std::filesystem::path>& traced);
    void put_slowest(RunNow& run, uint64_t window);
    uint64_t newest_window();
    void put_window(const FollowedTrace& trace, const Moment& now, RankNow& rank);

    std::filesystem::path folder_;
    std::list<FollowedTrace> traces_;   // all of the folder
    std::list<FollowedTrace*> of_run_;  // of its newest run
    WindowBegins seen_, read_;          // windows that are there; those that were read, or are being read
    int64_t seen_since_ns_ = 0;         // no others have come since
    SlowestRank slowest_;
    bool looks_once_ = false;
    std::thread reader_;
    std::atomic<bool> is_reading_ = false, stop_ = false;
    std::mutex lock_;  // of these:
    NewestWindows windows_;
    uint64_t windows_number_ = 0;                           // another for each
    std::map<std::filesystem::path, PartsCourse> courses_;  // of the traces of windows_
    std::string why_no_windows_;
};

}  // namespace gpushim::analysis
