// The rows of one batch on their way into the trace: a block for each table, in the order of its columns
// (schema/tables.sql). The writer's thread only.
#pragma once

#include <array>

#include "../sqlite/rows.h"

namespace gpushim::shim {

// Columns that are read again, from 0, in the order of schema/tables.sql. The first two of an event are its
// start and how long it took.
namespace column {
constexpr int start = 0, duration = 1, stream = 3;
constexpr int launch_shape = 4, launch_flags = 6;
constexpr int copy_bytes = 5, copy_direction = 6, copy_sides = 7, copy_flags = 9;
constexpr int memset_bytes = 5, memset_flags = 7;
constexpr int sync_calls = 6;
constexpr int collective_bytes = 11;
constexpr int graph_launch_graph = 5, graph_launch_flags = 6;
constexpr int memory_bytes = 5;
constexpr int call_api = 3;
constexpr int device_duration = 2;  // launch_device, …
constexpr int marker_kind = 2;
constexpr int step_thread = 1, step_sum = 5;
}  // namespace column

struct Tables {
    // Events: column 0 is the start; behind the columns stands the series (rollup_series.h).
    RowsOf<7, 1> launch{"launch"};
    RowsOf<10, 1> copy{"copy"};
    RowsOf<8, 1> memset{"memset"};
    RowsOf<9, 1> sync{"sync"};
    RowsOf<14, 1> collective{"collective"};
    RowsOf<7, 1> graph_launch{"graph_launch"};
    RowsOf<12, 1> memory{"memory"};
    RowsOf<8, 1> call{"call"};
    RowsOf<10, 1> marker{"marker", 1u << 2, 1u << 7};
    // What is told of time without being an event.
    RowsOf<7> host_gap{"host_gap", 1u << 5};
    RowsOf<9> step_total{"step_total", 1u << 2};
    // What they refer to.
    RowsOf<4> thread{"thread", 1u << 2};
    RowsOf<8> handle{"handle", 1u << 1};
    RowsOf<2> handle_end{"handle_end"};
    RowsOf<2> handle_name{"handle_name"};
    RowsOf<3> context{"context"};
    RowsOf<7> stream{"stream", 1u << 3};
    RowsOf<3> name{"name", 1u << 1 | 1u << 2};
    RowsOf<4> api{"api", 1u << 1 | 1u << 2 | 1u << 3};
    RowsOf<14> shape{"shape"};
    RowsOf<7> communicator{"communicator", 1u << 1};
    RowsOf<7> graph{"graph"};
    RowsOf<3> graph_kernel{"graph_kernel"};
    // How far things are: a row takes the place of the one before it.
    RowsOf<4> collective_seq{"collective_seq"};
    RowsOf<5> memory_peak{"memory_peak"};

    RowsOf<15> series{"series", 1u << 1 | 1u << 9};

    static constexpr size_t kEventTables = 9, kInTime = 11;  // from the front; those whose ids are times
    std::array<Rows*, 26> all() {
        return {&launch,       &copy,   &memset,       &sync,       &collective,
                &graph_launch, &memory, &call,         &marker,     &host_gap,
                &step_total,   &thread, &handle,       &handle_end, &handle_name,
                &context,      &stream, &name,         &api,        &shape,
                &communicator, &graph,  &graph_kernel, &series,     &collective_seq,
                &memory_peak};
    }
    void clear() {
        for (Rows* rows : all()) rows->clear();
    }
};

}  // namespace gpushim::shim
