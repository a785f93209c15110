// Keeps the calls of single steps of a rank, so that a run can be drawn without its traces: writes kept_step,
// kept_call, kept_text and kept_track. With a step it keeps what was called before it and still ran, and of
// each operation the range and the line of Python that it was launched from, as far as these are recorded.
// What the run has of the rank already stays. One thread.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "../../exporter/trace_rows.h"
#include "../pass/facts.h"
#include "../sql/run_db.h"

namespace gpushim::analysis {

constexpr int64_t kMostKeptRows = 20'000;  // of a step
constexpr int64_t kMostKeptOfExcerpt = 4'000;
constexpr int64_t kMostKeptBefore =
    2'000;  // of what the steps before it left running; more where there is room
constexpr const char* kExcerpt = "excerpt";  // kept_step.why: no step, but a part of a run without steps

class KeptWriter {
  public:
    KeptWriter(const TraceFacts& facts, RunDb& run);
    bool has(size_t step) const { return steps_.contains(static_cast<int64_t>(step)); }
    void keep(size_t step, const std::string& why);
    void finish();  // when all steps are kept

  private:
    class OpenRanges;
    struct Place {
        int64_t step, nth;
        int64_t before = 0;
    };
    struct Before {
        int64_t most;  // rows, with the step's own
        int64_t seen;
        int64_t& left_out;
    };
    void keep_before(size_t step, Place& place, int64_t& left_out);
    bool keep_running(const Step& kept, int64_t from_ns, int64_t until_ns, Place& place, Before& before);
    void write(const Place& place, const ExportRow& row, PlainValue range);
    PlainValue text(std::string_view words);
    PlainValue line_of(const ExportRow& row);
    void read_lines();
    void write_tracks();

    const TraceFacts& facts_;
    RunDb& run_;
    ManyRows calls_;
    const std::shared_ptr<const ExportWords> words_;
    int64_t offset_ns_ = 0;
    std::map<std::string, int64_t, std::less<>> texts_;
    int64_t known_texts_ = 0;  // of these, that the run has
    bool is_first_ = true;     // the run has no step of the rank
    std::unordered_map<std::string, std::string> line_of_kernel_;
    std::set<int64_t> steps_, tids_;
    std::set<std::pair<int64_t, int64_t>> streams_;
};

}  // namespace gpushim::analysis
