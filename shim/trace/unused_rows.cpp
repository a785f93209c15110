#include "unused_rows.h"

#include <iterator>

namespace gpushim::shim {
namespace {

// What is told late may still name it, and we remember it for half of that.
constexpr int64_t kSettledNs = 2 * kRemember_ns;

constexpr int64_t kLookedAt = 16;  // rows for one that may go

}  // namespace

// Rows from an id on, with their life. What others need comes after those.
struct UnusedRows::Table {
    const char* next;
    void (UnusedRows::*free)(const Row& row);
    bool has_parts = false;    // so many as its fourth column says go with it
    bool ends_unseen = false;  // when it did is asked of the translator, by its fourth column
};
constexpr UnusedRows::Table UnusedRows::kTables[] = {
    {.next = "SELECT g.id, h.born_ns, coalesce(h.died_ns, e.died_ns),"
             " (SELECT count(*) FROM graph_kernel k WHERE k.graph_id = g.id)"
             " FROM graph g JOIN handle h ON h.id = g.handle_id LEFT JOIN handle_end e ON e.handle_id = h.id"
             " WHERE g.id > ?1 AND g.id NOT IN (SELECT graph_id FROM series WHERE graph_id NOTNULL)"
             " ORDER BY g.id LIMIT ?2",
     .free = &UnusedRows::free_graph,
     .has_parts = true},
    {.next = "SELECT s.id, h.born_ns, coalesce(h.died_ns, e.died_ns), 0"
             " FROM stream s JOIN handle h ON h.id = s.handle_id LEFT JOIN handle_end e ON e.handle_id = h.id"
             " WHERE s.id > ?1 AND s.id NOT IN (SELECT stream_id FROM series WHERE stream_id NOTNULL)"
             " ORDER BY s.id LIMIT ?2",
     .free = &UnusedRows::free_stream},
    {.next = "SELECT s.id, h.born_ns, coalesce(h.died_ns, e.died_ns), 0"
             " FROM shape s JOIN handle h ON h.id = s.handle_id LEFT JOIN handle_end e ON e.handle_id = h.id"
             " WHERE s.id > ?1 ORDER BY s.id LIMIT ?2",
     .free = &UnusedRows::free_shape},
    {.next = "SELECT id, first_ns, NULL, tid FROM thread WHERE id > ?1 ORDER BY id LIMIT ?2",
     .free = &UnusedRows::free_thread,
     .ends_unseen = true},
    {.next = "SELECT h.id, h.born_ns, coalesce(h.died_ns, e.died_ns), 0"
             " FROM handle h LEFT JOIN handle_end e ON e.handle_id = h.id"
             " WHERE h.id > ?1 AND h.kind NOT IN ('context', 'communicator')"
             " AND h.id NOT IN (SELECT handle_id FROM series WHERE handle_id NOTNULL"
             "   UNION ALL SELECT handle_id FROM graph UNION ALL SELECT handle_id FROM graph_kernel"
             "   UNION ALL SELECT handle_id FROM stream WHERE handle_id NOTNULL"
             "   UNION ALL SELECT handle_id FROM shape WHERE handle_id NOTNULL)"
             " ORDER BY h.id LIMIT ?2",
     .free = &UnusedRows::free_handle},
};

UnusedRows::UnusedRows(Database& base, const KeptSlots& slots, Translator& translator)
    : base_(base),
      slots_(slots),
      translator_(translator),
      graph_end_(base.prepare("DELETE FROM graph WHERE id = ?")),
      graph_kernels_end_(base.prepare("DELETE FROM graph_kernel WHERE graph_id = ?")),
      stream_end_(base.prepare("DELETE FROM stream WHERE id = ?")),
      own_streams_end_(
          base.prepare("DELETE FROM stream WHERE id = ? AND id NOT IN (SELECT stream_id FROM series WHERE"
                       " stream_id NOTNULL)")),
      shape_end_(base.prepare("DELETE FROM shape WHERE id = ?")),
      thread_end_(base.prepare("DELETE FROM thread WHERE id = ?")),
      handle_end_(base.prepare("DELETE FROM handle WHERE id = ?")),
      handle_end_end_(base.prepare("DELETE FROM handle_end WHERE handle_id = ?")),
      handle_name_end_(base.prepare("DELETE FROM handle_name WHERE handle_id = ?")) {
    for (const Table& table : kTables) next_.push_back(base.prepare(table.next));
}

bool UnusedRows::is_unused(const Row& row, int64_t newest_ns) const {
    if (row.until_ns == kNull || row.until_ns > newest_ns - kSettledNs) return false;
    return !slots_.has_rows_in(row.from_ns == kNull ? 0 : row.from_ns, row.until_ns);
}

// What is named is put together each time: for many at once.
std::vector<UnusedRows::Row> UnusedRows::next_rows(int64_t most_rows) {
    std::vector<Row> rows;
    Statement& next = next_[table_];
    next.bind(1, after_).bind(2, most_rows);
    while (next.step()) rows.push_back({next.number(0), next.number(1), next.number(2), next.number(3)});
    return rows;
}

bool UnusedRows::free_some(int64_t most_rows, int64_t newest_ns) {
    const Table& table = kTables[table_];
    base_.begin(false);
    const std::vector<Row> rows = next_rows(kLookedAt * most_rows);
    bool are_more = static_cast<int64_t>(rows.size()) == kLookedAt * most_rows;
    int64_t freed = 0;
    for (Row row : rows) {
        if (freed >= most_rows) {
            are_more = true;
            break;
        }
        after_ = row.id;
        if (table.ends_unseen) row.until_ns = translator_.end_of_thread(row.id, row.more);
        if (!is_unused(row, newest_ns)) continue;
        (this->*table.free)(row);
        freed += table.has_parts ? 1 + row.more : 1;
    }
    base_.commit();
    if (are_more) return true;
    after_ = 0;
    table_ = (table_ + 1) % std::size(kTables);
    return table_ != 0;
}

void UnusedRows::free_graph(const Row& row) {
    graph_end_.bind(1, row.id).step();
    graph_kernels_end_.bind(1, row.id).step();
    translator_.graph_is_gone(static_cast<size_t>(row.more));
}

void UnusedRows::free_stream(const Row& row) {
    stream_end_.bind(1, row.id).step();
    translator_.stream_is_gone(row.id);
}

void UnusedRows::free_shape(const Row& row) {
    shape_end_.bind(1, row.id).step();
    translator_.shape_is_gone(row.id);
}

// With the default streams that were its own.
void UnusedRows::free_thread(const Row& row) {
    thread_end_.bind(1, row.id).step();
    for (const int64_t stream : translator_.thread_is_gone(row.id)) own_streams_end_.bind(1, stream).step();
}

void UnusedRows::free_handle(const Row& row) {
    handle_end_.bind(1, row.id).step();
    handle_end_end_.bind(1, row.id).step();
    handle_name_end_.bind(1, row.id).step();
}

}  // namespace gpushim::shim
