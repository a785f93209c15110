// The rows of one batch on their way into the trace: a block for each table that the translator fills
// (schema/tables.def). The writer's thread only.
#pragma once

#include <array>

#include "../schema/rows.h"

namespace gpushim::shim {

// What is summed up of events, by its place in a row; `none` where there is nothing.
struct EventColumns {
    int duration, calls, bytes, flags = column::none;
};
struct EventRows {
    Rows* rows;
    EventColumns columns;
};

struct Tables {
#define OF_translated(name) RowsOf<row::name> name;
#define OF_observed(name)
#define OF_stored(name)
#define TABLE(name, filled, ...) OF_##filled(name)
#define EVENT(name, ...) RowsOf<row::name, 1> name;  // behind the columns stands the series (rollup_series.h)
#include "../schema/tables.def"
#undef OF_translated

    auto events() {
#define DURATION_operation dur_ns
#define DURATION_call dur_ns
#define DURATION_mark none
#define EVENT(name, what, calls, bytes) \
    EventRows{                          \
        &name,                          \
        {column::name::DURATION_##what, column::name::calls, column::name::bytes, column::name::flags}},
        return std::array{
#include "../schema/tables.def"
        };
#undef DURATION_operation
#undef DURATION_call
#undef DURATION_mark
    }

    // Those whose ids are times: the events first, and what is told of time without being an event.
    auto in_time() {
#define EVENT(name, ...) static_cast<Rows*>(&name),
        return std::array{
#include "../schema/tables.def"
            static_cast<Rows*>(&host_gap), static_cast<Rows*>(&step_total),
            static_cast<Rows*>(&nccl_operation), static_cast<Rows*>(&nccl_channel),
            static_cast<Rows*>(&nccl_network)};
    }

    // The events first.
    auto all() {
#define EVENT(name, ...) static_cast<Rows*>(&name),
        return std::array{
#include "../schema/tables.def"
#define OF_translated(name) static_cast<Rows*>(&name),
#define TABLE(name, filled, ...) OF_##filled(name)
#define EVENT(...)
#include "../schema/tables.def"
        };
#undef OF_translated
#undef OF_observed
#undef OF_stored
    }
    void clear() {
        for (Rows* rows : all()) rows->clear();
    }
};

}  // namespace gpushim::shim
