// The rows of a trace for an export: all its tables side by side, in order of enter. Read row by row; in
// memory are only the texts that a trace tells apart, whose number is bounded. One thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "../sqlite/number_rows.h"
#include "../trace/inputs.h"
#include "export_row.h"

namespace gpushim::analysis {

struct ExportSource;

// What the numbers in rows mean.
struct ExportWords {
    struct Stream {
        int64_t device, context, number;
    };
    struct Shape {
        std::string kernel, api;
        std::array<int64_t, ExportRow::kNumbers> numbers;
    };
    struct Communicator {
        std::string uid;
        int64_t rank, ranks;
    };
    struct Error {
        int64_t likely_ns;  // 0: stamps
    };
    std::unordered_map<int64_t, int64_t> tids, device_of_context, kernels_of_graph;
    std::unordered_map<int64_t, Stream> streams;
    std::unordered_map<int64_t, std::string> apis;
    std::unordered_map<int64_t, Shape> shapes;
    std::unordered_map<int64_t, Communicator> communicators;
    std::unordered_map<int64_t, Error> errors;
};

// To be read once by who reads several parts of a trace.
std::shared_ptr<const ExportWords> export_words(const Trace& trace);

// How many rows there are to go through, about.
int64_t count_rows(const Database& base);

// Who the process is, without its steps.
ExportHead export_head(const Trace& trace, const ExportWords& words);

class TraceRows : public ExportRows {
  public:
    // Of calls that were entered in [from, until), and of ranges that lie in it.
    TraceRows(const Trace& trace, int64_t from_ns, int64_t until_ns)
        : TraceRows(trace, export_words(trace), from_ns, until_ns) {}
    TraceRows(const Trace& trace, std::shared_ptr<const ExportWords> words, int64_t from_ns,
              int64_t until_ns);
    explicit TraceRows(const Trace& trace);  // all of them, ranges that are still open, too
    bool next(ExportRow& row) override;

  private:
    // The rows of a table: numbers, or what a statement gives.
    struct Cursor {
        Cursor(const Database& base, const ExportSource& of, int64_t from_ns);
        Cursor(const Database& base, const ExportSource& of, const char* sql);

        const ExportSource* source;
        std::optional<NumberRows> rows, times;
        NumberRow at = {}, times_at = {};
        bool has_times = false;
        std::optional<Query> query;
        ExportRow row = {};
        std::string text = {};  // what the row's name is in, where it has one of its own
        bool has_row = false;
    };
    void open(const Trace& trace, int64_t from_ns, int64_t until_ns, const char* ranges);
    void step(Cursor& cursor);
    bool step_query(Cursor& cursor) const;
    bool step_numbers(Cursor& cursor);
    void read_times(Cursor& cursor) const;
    void tell(Cursor& cursor);
    int64_t tid_of(int64_t thread_id) const;
    bool is_event(int64_t handle_id);

    std::shared_ptr<const ExportWords> words_;
    Query is_event_;
    int64_t until_ns_ = INT64_MAX;
    std::vector<Cursor> cursors_;
    Cursor* given_ = nullptr;
};

}  // namespace gpushim::analysis
