// Events into rows: every event becomes exactly one row of one event table, and what it refers to — handles,
// names, streams, shapes, communicators — becomes rows of theirs when it is first seen. All that is
// remembered here can be read back from the trace (load). The writer's thread only.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "collective_rows.h"
#include "gemm_rows.h"
#include "graph_rows.h"
#include "launch_rows.h"
#include "memory_rows.h"
#include "nccl_rows.h"
#include "object_rows.h"
#include "row_maker.h"
#include "span_rows.h"
#include "thread_rows.h"
#include "wait_rows.h"

namespace gpushim::shim {

class Translator {
  public:
    Translator(Tables& tables, TimedOperations& timed, bool recovering, const TableLimits& limits);
    void load(Database& base);

    // In order of enter_ns. `odd`: of a launch's second slot, or null.
    void take(const Event& event, const event::odd_launch* odd);
    void end_of_batch(int64_t watermark_ns);

    std::vector<uint64_t>& unnamed() { return known_.unnamed; }

    // Rows that are gone (unused_rows.h).
    void graph_is_gone(size_t kernels) { graphs_.is_gone(kernels); }
    void stream_is_gone(int64_t id) { known_.group_on_stream.erase(id); }
    void shape_is_gone(int64_t id) { known_.shapes.forget(id); }
    std::vector<int64_t> thread_is_gone(int64_t number);  // its own default streams
    int64_t end_of_thread(int64_t number, int64_t tid) const { return threads_.end_of(number, tid); }
    bool is_held(int64_t api_id, uint64_t address, int64_t enter_ns) const {
        return memory_.is_held(api_id, address, enter_ns);
    }

    SeriesList& series() { return known_.series; }
    // What had no place: counts of meta, by key, since the trace was opened.
    struct LeftOut {
        const char* key;
        uint64_t times;
    };
    std::array<LeftOut, 6> left_out() const;

  private:
    void row_of(const Call& call);

    Known known_;
    Graphs graphs_;
    LaunchRows launches_;
    MemoryRows memory_;
    ObjectRows objects_;
    GraphRows graph_rows_;
    CollectiveRows collectives_;
    GemmRows gemms_;
    NcclRows nccl_;
    SpanRows spans_;
    WaitRows waits_;
    ThreadRows threads_;
};

}  // namespace gpushim::shim
