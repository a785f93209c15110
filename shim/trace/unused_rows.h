// Frees what only rows that are gone have named: objects that have ended, with their streams, shapes and
// states of graphs, and threads that have. An object that lived from `a` to `b` was used in between, so its
// rows can go when no span of that time has rows any more, and no series names it. Looks at all of them in
// parts. The writer's thread only; throws DatabaseError, after which it has to be made again.
//
//   kept     |####|            |####|          |####|      now
//   lives  ----------  stays     ------ stays
//                     ------ goes         ---- goes
#pragma once

#include <cstdint>
#include <vector>

#include "../rows/translator.h"
#include "../sqlite/database.h"
#include "kept_slots.h"

namespace gpushim::shim {

class UnusedRows {
  public:
    UnusedRows(Database& base, const KeptSlots& slots, Translator& translator);

    // One transaction: of one table so many of the next rows. False: it has looked at all; the next call
    // begins anew.
    bool free_some(int64_t most_rows, int64_t newest_ns);

  private:
    struct Row {
        int64_t id, from_ns, until_ns;
        int64_t more;  // kernels of a graph, id of a thread for the kernel
    };
    struct Table;
    static const Table kTables[];

    std::vector<Row> next_rows(int64_t most_rows);
    bool is_unused(const Row& row, int64_t newest_ns) const;
    void free_graph(const Row& row);
    void free_stream(const Row& row);
    void free_shape(const Row& row);
    void free_thread(const Row& row);
    void free_handle(const Row& row);

    Database& base_;
    const KeptSlots& slots_;
    Translator& translator_;
    std::vector<Statement> next_;
    Statement graph_end_, graph_kernels_end_, stream_end_, own_streams_end_, shape_end_, thread_end_,
        handle_end_, handle_end_end_, handle_name_end_;
    size_t table_ = 0;
    int64_t after_ = 0;  // id
};

}  // namespace gpushim::shim
