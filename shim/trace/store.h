// The trace file. A batch goes in as one transaction, together with how far each ring then is (ring_commit):
// so a batch is there entirely or not at all, and recovery knows where to go on. Nothing throws; what could
// not be written is written by the next call with the same events, after the same file has been read again.
//
// create: on the thread that starts recording; the file is complete, closed and readable when it returns.
// open, write: one thread (the writer's; in another process the recovery's).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "../machine/device.h"
#include "../machine/identity.h"
#include "../rows/batch.h"
#include "../rows/observer.h"
#include "../rows/timed_operations.h"
#include "file_size.h"

namespace gpushim::shim {

class OpenTrace;

class Store {
  public:
    enum class Role { writer, recovery };  // recovery marks its rows as recovered

    // Makes the tables in `path` — an empty file that the caller has taken, or none — and who is traced.
    static bool create(const char* path, const TraceIdentity& identity,
                       std::span<const Device> devices) noexcept;

    // The same, and it stays open. Null: it could not be made. It has no log before the first batch that is
    // not at the end of its process: one that ends soon writes little, and syncs once.
    static Store* make(const char* path, const TraceIdentity& identity,
                       std::span<const Device> devices) noexcept;

    // Null: not to be opened (why: the log's business is the caller's; see failure()).
    static Store* open(const char* path, Role role) noexcept;
    ~Store();
    Store(const Store&) = delete;
    Store& operator=(const Store&) = delete;

    // All of the batch, or nothing of it: false. Then the caller keeps what it has, and comes again with at
    // least that; after a failure the next tries come back false at once for a while.
    //
    // What makes handles right: a call that used a handle comes with, or after, the call that made it; so no
    // event of the batch began after the moment at which the first ring was looked at.
    bool write(const Batch& batch) noexcept;

    // After a batch that was not written: what to count what is lost meanwhile for.
    Drop why_not() const noexcept;

    // How many slots of rings a batch may be made of at most, for the file to keep its size.
    size_t most_slots() const noexcept;

    // All is written that there will be: meta.ended becomes this. Where that fails the trace says less.
    void note_end(const char* how) noexcept;

    // From now on what is written is worth more than other rows, when some have to go.
    void keep_rows(bool keep) noexcept;

    // Operations of the last batch written that got events of ours, by stream in order. Until the next write.
    std::span<const TimedOperation> timed() const noexcept;

    // Functions that were launched and whose name is not known (function_names.h). Emptied by the call.
    size_t take_unnamed(std::span<uint64_t> functions) noexcept;

    // Written since it was opened.
    uint64_t events() const noexcept;

    // Why the last create, open or write failed: one line; empty if it did not.
    static const char* failure() noexcept;

  private:
    Store(std::string path, Role role);
    enum class Outcome {
        done,
        refused,  // nothing was begun
        broken,   // what is remembered no longer fits the file
    };
    bool connect() noexcept;
    template <class F>
    Outcome attempt(F&& work) noexcept;
    Outcome try_to_write(const Batch& batch) noexcept;
    Share share_of(Share there_is_room_for, int64_t now_ns) const;
    void expect_less(Share tried, int64_t now_ns);

    std::string path_;
    Role role_;
    TimedOperations timed_;
    std::unique_ptr<OpenTrace> trace_;  // null: after a failure
    int64_t not_before_ns_ = 0;
    Drop why_not_ = Drop::full;
    bool keeps_rows_ = false;
    Share most_ = Share::rows;  // of the next batch: of the last one more did not fit
    int64_t less_until_ns_ = 0;
    Share tried_ = Share::rows;
    uint64_t events_ = 0;
};

}  // namespace gpushim::shim
