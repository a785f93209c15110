// A trace file as it is open between two failures: everything here can be made again from the file. A batch's
// events become rows, and these go in with the totals and with how far the rings are, in one transaction. The
// writer's thread only (or the recovery's); throws DatabaseError and NoRoom.
//
//   make_room   write, or count as dropped        of the same batch
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "../rows/batch.h"
#include "../rows/tables.h"
#include "../rows/timed_operations.h"
#include "../rows/translator.h"
#include "../rows/unique_starts.h"
#include "../sqlite/database.h"
#include "make_space.h"
#include "rollup.h"

namespace gpushim::shim {

class OpenTrace {
  public:
    OpenTrace(std::unique_ptr<Database> base, const std::string& path, bool recovering,
              TimedOperations& timed);

    bool use_log() { return base_.use_log(); }

    // What of it there is room for, as far as can be told before. No more than `most` is wanted.
    Share make_room(const Batch& batch, Share most);
    // `keep`: its rows are worth more than others. Throws NoRoom for `size` where less would fit.
    void write(const Batch& batch, bool keep, Share share);

    void note_end(const char* how);  // apart, after the last batch

    const FileSize& size() { return space_.size(); }
    std::vector<uint64_t>& unnamed() { return translator_.unnamed(); }

  private:
    struct Counts {
        uint64_t annex = 0;
        uint64_t polls = 0;
    };
    struct Observed {
        Rows* rows = nullptr;
        std::optional<Statement> insertion, there;
    };
    using Place = std::pair<uint64_t, uint64_t>;  // ring, position

    void load_rings();
    bool is_in_already(const Event& event) const;
    void translate(const Batch& batch);
    void take(std::span<const Event> events, size_t index);
    void insert(const Batch& batch, bool keep, Share share);
    void insert_observed(Rows& rows, Share share);
    void count_only(const Batch& batch);
    void write_left_out();
    Observed& observed_of(Rows& rows);
    void insert_new(Rows& rows);
    void write_apart(Rows& rows, size_t count);
    void write_samples(const Batch& batch);
    void write_clock(std::span<const ClockPair> pairs);
    void write_rings(const Batch& batch);
    void write_drops(const RingProgress& ring, int64_t seen_ns);
    void write_drop(int64_t ring, Drop why, int64_t seen_ns, uint64_t events);
    void insert_block(size_t index);
    void write_counts(const Batch& batch);
    void write_end(const char* how);
    void write_count(const char* key, uint64_t since_opened);

    std::unique_ptr<Database> opened_;
    Database& base_;
    Tables tables_;
    TimedOperations& timed_;
    Translator translator_;
    Rollups rollups_;
    SpaceMaker space_;
    std::vector<std::optional<Statement>> insertions_;  // of those blocks that ever had a row
    std::map<std::string, Observed> observed_;          // by table
    std::vector<UniqueStarts> starts_;
    std::map<uint64_t, Counts> counts_;
    std::map<uint64_t, Committed> committed_;  // before the first batch; empty from then on
    std::map<uint64_t, std::array<uint64_t, kDrops>> drops_;
    uint64_t left_out_ = 0;  // events that are not even in the totals
    uint64_t samples_left_out_ = 0;
    std::map<Place, event::odd_launch> seconds_;  // second slots whose launch was still open
    std::vector<std::pair<int64_t, size_t>> order_;
    std::map<std::string, uint64_t, std::less<>> facts_before_, facts_written_;  // counts in meta
    int64_t synced_ns_ = 0;
    bool pairs_apart_ = false;  // those of the batch that room was made for are in already
    Statement ring_row_, clock_row_, drop_row_, older_drops_, fact_row_;
};

}  // namespace gpushim::shim
