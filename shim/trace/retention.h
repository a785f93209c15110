// Frees the rows of spans that are the least worth keeping (kept_slots.h) and says in `summarised` that they
// are gone. Their totals stay: those are in `rollup`. A part of a span in each transaction, of so many rows
// as it is told: so none takes long, and a kill leaves the rest to go on with. The writer's thread only;
// throws DatabaseError, after which it has to be made again.
//
// In a span that is gone samples are thinned (samples.h), of `nvml` and `device_clock` those of every sixth
// span stay, and of `handle` no events that lived in it only.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "../rows/tables.h"
#include "../rows/translator.h"
#include "../sqlite/database.h"
#include "kept_slots.h"
#include "samples.h"

namespace gpushim::shim {

class Retention {
  public:
    Retention(Database& base, const Translator& translator, Samples& samples);

    // Rows of a transaction that is about to be made, with their final ids. `asked`: they are to be kept.
    void note(Tables& tables, bool asked);
    // The same of an observer's; of those that are of no moment nothing.
    void note_observed(const Rows& rows);
    // Before it: rows from now on may be in that window (kept_slots.h).
    void hold(int64_t from_ns, int64_t until_ns) { slots_.hold(from_ns, until_ns); }
    // With that transaction.
    void write();

    // One transaction. False: nothing is left that could go.
    bool free_some(int64_t most_rows);

    const KeptSlots& slots() const { return slots_; }
    int64_t newest_ns() const { return newest_ns_; }

    // Rows of an observer that are of a moment, and so go with a slot.
    static bool is_in_time(const char* table);

    // In the batch's transaction, before note(): what is not needed to go on is counted instead of written.
    void leave_out(Tables& tables);

  private:
    using Part = KeptSlots::Span;
    struct Calls {
        int64_t recorded = 0, recovered = 0, unfinished = 0;
        void add(int64_t calls, int64_t flags);
    };
    int64_t end_of_rows(int64_t from_ns, int64_t until_ns, int64_t most_rows);
    Part part_of(KeptSlots::Part of, int64_t most_rows);
    void load();
    void load_windows();
    int64_t first_row(int64_t from_ns, int64_t until_ns);
    int64_t newest_row() const;
    void note_rows(const Rows& rows, size_t from, size_t until, int64_t launches);  // each stands for
    int64_t free_part(const Part& part, Calls& calls);
    static int64_t rows_in(Statement& count, const Part& part);
    int64_t free_memory(const Part& part, Calls& calls);
    void free_allocation(int64_t address, int64_t allocated_ns, Calls& calls);
    bool free_of(KeptSlots::Part part, int64_t most_rows);
    void summarise(Part part, const Calls& calls);
    void end_slot(int64_t number, int64_t most_rows);
    bool forget_handles(int64_t number, KeptSlot& slot, int64_t until_ns, int64_t most_rows);
    int64_t first_handle_after(int64_t number) const;

    Database& base_;
    const Translator& translator_;
    Samples& samples_;
    KeptSlots slots_;
    int64_t newest_ns_ = 0;
    int64_t kept_markers_ = 0;  // that stay where others go
    std::vector<Statement> nth_rows_, counts_, deletions_;
    Statement slot_row_;
    Statement slot_end_;
    Statement touching_, untouched_, gone_row_;
    Statement marker_rows_;
    Statement memory_rows_, memory_end_, allocation_;
    Statement handle_end_, handle_end_end_;
    Statement newest_handle_;
};

}  // namespace gpushim::shim
