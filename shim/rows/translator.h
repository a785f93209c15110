// Events into rows: every event becomes exactly one row of one event table, and what it refers to — handles,
// names, streams, shapes, communicators — becomes rows of theirs when it is first seen. All that is
// remembered here can be read back from the trace (load). The writer's thread only.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "../calls/api.h"
#include "../schema/flags.h"
#include "../sqlite/database.h"
#include "batch.h"
#include "communicators.h"
#include "graphs.h"
#include "handles.h"
#include "interned.h"
#include "ranges.h"
#include "rollup_series.h"
#include "span_pairs.h"
#include "streams.h"
#include "table_limits.h"
#include "tables.h"
#include "timed_operations.h"

namespace gpushim::shim {

class Translator {
  public:
    Translator(Tables& tables, TimedOperations& timed, bool recovering, const TableLimits& limits);
    void load(Database& base);

    // In order of enter_ns. `odd`: of a launch's second slot, or null.
    void take(const Event& event, const event::odd_launch* odd);
    void end_of_batch(int64_t watermark_ns);

    std::vector<uint64_t>& unnamed() { return unnamed_; }

    // Rows that are gone (unused_rows.h).
    void graph_is_gone(size_t kernels);
    void stream_is_gone(int64_t id);
    void shape_is_gone(int64_t id);
    std::vector<int64_t> thread_is_gone(int64_t number);  // its own default streams
    // When it was last seen; kNull: it still is, or nobody knows.
    int64_t end_of_thread(int64_t number, int64_t tid) const;

    // Whether what was allocated by that row is held still: then load() needs it.
    bool is_held(int64_t api_id, uint64_t address, int64_t enter_ns) const;
    SeriesList& series() { return series_; }
    // What had no place: counts of meta, by key, since the trace was opened.
    struct LeftOut {
        const char* key;
        uint64_t times;
    };
    std::array<LeftOut, 6> left_out() const;

  private:
    struct Call {  // an event with what all kinds need of it
        const Event& event;
        const event::odd_launch* odd;
        uint32_t traits;
        int64_t api;
        int64_t enter_ns;
        int64_t dur_ns;
        int64_t thread;
        int64_t group;
        int64_t flags;
        bool finished;
        bool succeeded;  // finished, and all words count

        // What its words say: of a failed call the fourth is the error, of an unfinished one nothing is said.
        template <class E>
        E words() const {
            static_assert(sizeof(E) % sizeof(uint64_t) == 0);
            E words = {};
            const size_t said = succeeded ? sizeof event.slot.word : kErrorWord * sizeof(uint64_t);
            if (finished) std::memcpy(&words, event.slot.word, std::min(sizeof words, said));
            return words;
        }
        // Of a kind whose first word is one.
        uint64_t handle() const { return words<event::other>().handle; }
        bool has(uint32_t trait) const { return (traits & trait) != 0; }
        Object object() const {
            return static_cast<Object>((traits & traits::object_bits) / traits::of_stream);
        }
    };
    void row_of(const Call&);

    void launch(const Call&);
    void graph_launch(const Call&);
    void copy(const Call&);
    void memset(const Call&);
    void sync(const Call&);
    void query(const Call&);
    void stream_first(const Call&);  // word 0 is a stream
    void event_on_stream(const Call&);
    void born(const Call&);
    void died(const Call&);
    void named(const Call&);
    void memory(const Call&);
    void context(const Call&);
    void capture(const Call&);
    void graph(const Call&);
    void collective(const Call&);
    void communicator(const Call&);
    void marker(const Call&);
    void other(const Call&);
    void thread(const Call&);
    void timed(const Call&);  // translate_timed.cpp
    void gap(const Call&);    // translate_host.cpp
    void span(const Call&);   // translate_spans.cpp
    void graph_content(const Call&);
    void graph_nodes(const Call&);

    void see_thread(int64_t number, int64_t enter_ns);
    void add_memory_peaks();
    int64_t domain_id(std::string_view name);
    SpanBegun said_with(const Call& call, std::string_view domain, std::string_view text);
    void load_spans(Database& base);
    void add_step(int64_t enter_ns, int64_t thread, int64_t samples);
    void add_range_step(const SpanBegun& step, int64_t thread, int64_t dur_ns);
    void add_call(const Call& call, int64_t target_id, int64_t stream_id);
    void add_sync(const Call& call, int64_t dur_ns, int64_t calls);
    int64_t marker_series(const Call& call);
    Series series_of(const Call& call, SeriesKind kind, int64_t stream_id = kNull) const;
    void add_marker(const Call& call, const char* kind, int64_t name_id, int64_t value);
    void profiler(const Call& call);
    struct CachedShape {
        uint64_t function, grid, block;
        uint16_t api;
        Life* life;
        int64_t life_id;
        int64_t shape_id;
        // Of the newest of these launches, and what it counts to.
        int64_t stream_id, name_id, flags, series;
    };
    CachedShape& cached_shape(const Call& call);
    int64_t shape_of(const Call& call, CachedShape& cached, Life*& function);
    int64_t launch_series(const Call& call, CachedShape& cached, const Life* function, int64_t stream_id);
    int64_t group_of(const Call& call, int64_t stream_id, const Life* function, int64_t& flags);
    Streams::Use use(const Call& call, uint64_t handle) const;
    int64_t stream_of(const Call& call, uint64_t handle);
    Life* target(const Call& call, uint64_t handle);
    int64_t target_id(const Call& call, uint64_t handle);

    enum class Side : uint8_t { any, host, device, array };  // what the call itself says
    static Side side_of(const Call& call, bool target);
    Memory side(const Call& call, uint64_t address, Side what) const;
    bool are_peers(uint64_t target, uint64_t source, int64_t time_ns) const;
    struct Change {
        Memory memory;
        bool counted;
        uint32_t context;
        int64_t bytes;
        int64_t pool_id;
        int64_t allocated_ns;
    };
    Change allocated(const Call& call, uint32_t kind);
    Change freed(const Call& call, uint32_t kind);
    void load_memory(Database& base);

    Life* parent_of(const Call& call);
    bool is_the_same(const Life& life, const Call& call, const Life* parent) const;
    Life& begin_life(const Call& call, bool has_extra);
    void released_primary(const Call& call);
    void change_graph(const Call& call, Life& exec);
    int64_t function_of(const Call& call, uint64_t handle);
    void ask_name(Life& function);

    Tables& tables_;
    TimedOperations& timed_;
    const int64_t recovered_;
    Names names_;
    Apis apis_;
    Shapes shapes_;
    SeriesList series_;
    Handles handles_;
    Streams streams_;
    AddressRanges ranges_;
    Communicators communicators_;
    Graphs graphs_;
    std::unordered_map<int64_t, int64_t> group_on_stream_;  // the newest NCCL call that used a stream
    std::unordered_map<int64_t, int64_t> threads_;          // when their newest event began
    int64_t last_number_ = 0;
    int64_t* last_thread_ = nullptr;  // of that number
    std::vector<uint64_t> unnamed_;

    SpanPairs spans_;
    std::unordered_map<std::string, int64_t> domains_;
    // A short process does not pay for many.
    static constexpr size_t kFewCachedShapes = 16, kCachedShapes = 1024;
    std::vector<CachedShape> cached_shapes_;  // made when there is a launch
    size_t shapes_not_cached_ = 0;
};

}  // namespace gpushim::shim
