// The rows of one batch on their way into the trace: a block for each table, in the order of its columns
// (schema/tables.sql). The writer's thread only.
#pragma once

#include <array>

#include "rows.h"

namespace gpushim::shim {

struct Tables {
    // Events: column 0 is the start.
    RowsOf<7> launch{"launch"};
    RowsOf<10> copy{"copy"};
    RowsOf<8> memset{"memset"};
    RowsOf<9> sync{"sync"};
    RowsOf<14> collective{"collective"};
    RowsOf<7> graph_launch{"graph_launch"};
    RowsOf<11> memory{"memory"};
    RowsOf<8> call{"call"};
    RowsOf<10> marker{"marker", 1u << 2, 1u << 7};
    RowsOf<7> host_gap{"host_gap", 1u << 5};
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

    static constexpr size_t kEventTables = 10;
    std::array<Rows*, 22> all() {
        return {&launch, &copy,     &memset, &sync,         &collective, &graph_launch, &memory,  &call,
                &marker, &host_gap, &thread, &handle,       &handle_end, &handle_name,  &context, &stream,
                &name,   &api,      &shape,  &communicator, &graph,      &graph_kernel};
    }
    void clear() {
        for (Rows* rows : all()) rows->clear();
    }
};

}  // namespace gpushim::shim
