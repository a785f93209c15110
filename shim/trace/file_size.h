// How large a trace may get: the database, its write-ahead log and the log's index, as another process sees
// them at any moment, never take more than max_bytes, because SQLite is refused the page and the log the byte
// that would be too much. What is planned here keeps a transaction from ever getting that far. The writer's
// thread only; throws NoRoom and DatabaseError.
//
//   max_bytes   |-- pages of the database, written here by checkpoints --|-- log --|- index -|
#pragma once

#include <cstdint>
#include <string>

#include "../ring/ring_format.h"
#include "../sqlite/database.h"

namespace gpushim::shim {

struct Limits {
    int64_t max_bytes;       // 0: none
    int64_t min_free_bytes;  // of the disk
};

// What of a batch goes into the trace.
enum class Share : uint8_t {
    rows,    // all of it
    totals,  // events are summed up, and counted as summarised
    counts,  // events are counted as dropped: `size`
};

// Nothing can be written now: what happens stays in the rings, and what does not fit there counts as lost for
// this reason.
struct NoRoom : std::runtime_error {
    NoRoom(Drop why, const char* what) : std::runtime_error(what), reason(why) {}
    Drop reason;
};

class FileSize {
  public:
    FileSize(Database& base, std::string path, const Limits& limits);

    // How many slots of rings a transaction may take.
    size_t most_slots() const;
    // How many rows a transaction may free, and what that takes of the log.
    int64_t most_rows() const;
    int64_t freeing_bytes() const { return kTransactionBytes + most_rows() * kFreedRowBytes; }

    // Before a transaction: its log has room, the disk too.
    void expect(int64_t need_bytes);
    // What a transaction's log may take: what is more will fail.
    int64_t most_bytes();
    // So much that rows may take is not left: they leave a reserve for totals.
    bool is_short_of(int64_t need_bytes);
    // Totals leave one, too, for how far the rings are and what was lost. After `used_before` this
    // transaction takes of it.
    bool takes_of_reserve(int64_t used_before_bytes);
    int64_t used_bytes();  // of the database's pages
    int64_t room_bytes() const { return pages_bytes_; }
    bool is_limited() const { return limits_.max_bytes != 0; }

    static constexpr int64_t kTransactionBytes = 48 * 4096;  // beside its rows: a page or two of every table
    static constexpr int64_t kSlotBytes = 128;
    static constexpr int64_t kFreedRowBytes = 100;  // with a handle that goes

  private:
    int64_t log_bytes() const;
    int64_t free_bytes() const;

    Database& base_;
    std::string log_path_;
    std::string folder_;
    Limits limits_;
    int64_t planned_log_bytes_;
    int64_t pages_bytes_;
    Statement pages_;
    Statement free_pages_;
};

}  // namespace gpushim::shim
