// What a run's database has kept of single calls, as rows to export. One thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "../sqlite/database.h"
#include "export_row.h"

namespace gpushim::analysis {

const char* export_kind_name(ExportKind kind);  // as table kept_call says it

// Of a rank's steps; empty: none is kept.
struct KeptRank {
    int64_t rank_id;
    std::optional<int64_t> rank;
    int64_t pid;
    std::string steps;     // "steps 17 (typical) and 30 (worst)"
    int64_t left_out = 0;  // rows for which there was no room
};
std::vector<KeptRank> kept_ranks(const Database& run);
ExportHead kept_head(const Database& run, int64_t rank_id);

class KeptRows : public ExportRows {
  public:
    KeptRows(const Database& run, int64_t rank_id);
    bool next(ExportRow& row) override;

  private:
    Query rows_;
    std::string name_, what_;
};

}  // namespace gpushim::analysis
