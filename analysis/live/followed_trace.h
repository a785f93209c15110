// One trace that is being written, read again and again: each time the rows that came since, so a look costs
// what is new, not what there is. Nothing is held between two looks: no connection, no lock, no descriptor.
// The writer checkpoints its log as if nobody were there, and at its end puts the file into one piece.
//
// A trace of another host's disk, of a file system without shared memory, or in a folder where SQLite may not
// make its companions is not read while it is written: `why` of its RankNow says so. One thread.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "../sqlite/database.h"
#include "figures.h"
#include "step_pace.h"

namespace gpushim::analysis {

// The clocks of this machine, at one moment.
struct Moment {
    int64_t mono_ns = 0, real_ns = 0;
    std::string boot_id;
};
Moment this_moment();

class FollowedTrace {
  public:
    explicit FollowedTrace(std::filesystem::path path) : path_(std::move(path)) {}

    // Reads what is new. False: the file is gone, or another one is in its place.
    // What has not been written to since is not opened.
    bool read(const Moment& now);
    // `is_traced`: somebody holds its rings. Without parts of the GPUs, and without open calls.
    RankNow figures(const Moment& now, bool is_traced);

    const std::filesystem::path& path() const { return path_; }
    const std::string& run_key() const { return run_key_; }
    const std::string& program() const { return program_; }
    int64_t started_real_ns() const { return started_real_ns_; }
    std::optional<int64_t> world_size() const { return world_size_; }
    std::optional<int64_t> newest_window_ns() const { return window_ns_; }
    // What a moment of its clock was ago; none: its clock is none of this machine's.
    std::optional<int64_t> age_ns(int64_t mono_ns, const Moment& now) const;

  private:
    using PaceKey = std::pair<int64_t, std::string>;  // thread and source
    struct Pace {
        StepPace steps;
        PaceChanges changes;
        int64_t counted_ns = 0, step = 0;  // begin and number of the newest change's first step
    };
    struct CostRow {
        int64_t mono_ns, span_ns, busiest_ns, writer_ns;
    };
    // When and how long the file and its log were written last.
    struct Written {
        int64_t file_ns = 0, file_bytes = 0, log_ns = 0, log_bytes = 0;
        friend bool operator==(const Written&, const Written&) = default;
    };
    Written written_now() const;
    void read_identity(const Database& base);
    void read_news(const Database& base);
    void read_calls(const Database& base);
    void read_steps(const Database& base);
    void read_cost(const Database& base);
    void read_nvml(const Database& base);
    bool process_lives(const Moment& now) const;
    RankState state_of(const RankNow& rank, const Moment& now, bool is_traced) const;
    void follow_changes(const Database& base);
    Pace* main_pace();

    std::filesystem::path path_;
    uint64_t device_ = 0, inode_ = 0;  // of the file that was read first
    Written written_;                  // when it was read
    std::string why_;                  // it cannot be read
    bool is_known_ = false;            // who it is
    std::string host_, boot_id_, job_, pod_, run_key_, program_;
    std::optional<int64_t> rank_, world_size_;
    int64_t pid_ = 0, start_ticks_ = 0, started_real_ns_ = 0;
    bool has_own_clock_ = false;  // the test's, which is nobody else's
    std::string ended_;
    int64_t real_minus_mono_ns_ = 0;
    int64_t news_ns_ = 0, call_ns_ = 0;  // CLOCK_MONOTONIC of its host
    std::optional<int64_t> window_ns_;
    std::map<PaceKey, Pace> paces_;
    int64_t step_ns_ = 0;         // begin of the newest
    std::vector<CostRow> costs_;  // of the newest ten seconds
    int64_t cost_ns_ = 0, nvml_ns_ = 0;
    int64_t dropped_ = 0;
    std::map<int64_t, GpuNow> gpus_;  // by device_id
};

}  // namespace gpushim::analysis
