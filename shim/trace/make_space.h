// Makes room in a trace that is as large as it may be: the rows least worth keeping go (retention.h), and
// where totals take half of it these become coarser (rollup_merge.h). In transactions of its own, each of
// bounded work. The writer's thread only; throws NoRoom, before anything is changed, and DatabaseError.
#pragma once

#include <string>

#include "file_size.h"
#include "retention.h"
#include "rollup_merge.h"
#include "unused_rows.h"

namespace gpushim::shim {

class SpaceMaker {
  public:
    SpaceMaker(Database& base, const std::string& path, const Limits& limits, Translator& translator)
        : base_(base),
          size_(base, path, limits),
          samples_(base),
          retention_(base, translator, samples_),
          merge_(base, samples_),
          unused_(base, retention_.slots(), translator),
          count_(base.prepare("SELECT (SELECT count(*) FROM rollup) + (SELECT count(*) FROM step_total)")) {}

    // For a transaction that adds at most so much. Not `rows`: nothing else can go, or it never fits.
    Share make(int64_t need_bytes);

    FileSize& size() { return size_; }
    Retention& retention() { return retention_; }

  private:
    bool make_some();
    bool merge_some(bool at_any_cost);
    bool free_unused(bool at_once);
    int64_t totals_bytes();

    Database& base_;
    FileSize size_;
    Samples samples_;
    Retention retention_;
    RollupMerge merge_;
    UnusedRows unused_;
    Statement count_;
    int64_t totals_bytes_ = 0;
    int64_t freed_bytes_ = INT64_MAX / 2;     // since they were counted
    int64_t unlooked_bytes_ = INT64_MAX / 2;  // freed since all were looked for that are not used
    bool is_looking_ = false;
};

}  // namespace gpushim::shim
