// The tables of a trace that is brought in: rows come by time and are written as they come. Whoever gives
// them has put them in order (trace_writer). One thread.
#pragma once

#include <map>
#include <memory>

#include "imported_row.h"
#include "rows_of.h"
#include "trace_writer.h"

namespace gpushim::analysis {

class TraceTables {
  public:
    TraceTables(const std::filesystem::path& place, const ImportedTrace& trace, const ImportedNames& names);

    void write(ImportedRow row);
    ImportedCounts finish(const ImportedCounts& counts);

  private:
    // Tables whose rows are told apart by when they began.
    enum Table : size_t {
        kLaunch,
        kCopy,
        kMemset,
        kGraph,
        kSync,
        kCollective,
        kMemory,
        kCall,
        kMarker,
        kGap,
        kSpan,
        kTables
    };
    struct OnDevice {
        int64_t operations = 0;
        // Of that which ran first: when, and when its call was over; kNotThere: that was not seen.
        int64_t first_start_ns = INT64_MAX, first_called_ns = kNotThere;
    };
    void write_call(const ImportedRow& row, std::string_view kind);
    template <class Row>
    Row begun(Table table, const ImportedRow& row);
    bool write_untimed(const ImportedRow& row, std::string_view kind);
    template <class Times>
    void write_times(const Cell& enter_ns, const ImportedRow& row);
    void write_work(const ImportedRow& row);
    void write_operation(const ImportedRow& row);
    int64_t flags_of(const ImportedRow& row) const;
    uint8_t direction_of(const ImportedRow& row) const;
    void write_collective(const ImportedRow& row, int64_t group);
    void write_range(const ImportedRow& row);
    void write_gap(const ImportedRow& row);
    void write_inside(const ImportedRow& row);
    void write_operator(const ImportedRow& row, const Cell& enter_ns);
    int64_t event(const ImportedRow& row, std::string_view kind);
    int64_t moved(Table table, int64_t enter_ns);
    int64_t shape(const ImportedRow& row);
    int64_t function(int32_t name);
    int64_t known_from(const OnDevice& device) const;
    ImportedDevice told_of(int64_t device) const;
    int64_t instance(const ImportedRow& row);
    int64_t rank_in(const ImportedCommunicator& communicator) const;
    void write_texts();
    void write_contexts();
    void write_communicators();
    void write_devices();
    void write_windows();
    void write_trace();
    void write_meta();
    std::string identity() const;

    const ImportedTrace& trace_;
    const ImportedNames& names_;
    RowsOf rows_;
    std::map<std::pair<int32_t, int32_t>, int64_t> shapes_;  // (what it looks like, call) to shape.id
    std::map<int64_t, OnDevice> operations_;                 // by device
    std::map<int32_t, int64_t> functions_;                   // handle.id by name
    std::map<int64_t, int64_t> events_;                      // handle.id by the source's number
    std::map<std::tuple<int64_t, int64_t, int64_t>, int64_t>
        counted_;  // collectives, by communicator and peer
    std::array<int64_t, kTables> last_ = {};
    std::map<std::pair<int64_t, int64_t>, int64_t> contexts_;  // (device, context) to context.id
    int64_t first_ns_ = INT64_MAX, last_ns_ = INT64_MIN;
    int64_t handles_ = 0, groups_ = 0, moved_ = 0;
    uint64_t hash_ = 14695981039346656037u;  // of all rows
    OpenOperators operators_inside_;
    ImportedCounts counts_;
};

}  // namespace gpushim::analysis
