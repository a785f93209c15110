// Spans of a trace without rows. Rows that are gone: what happened in them is in its totals only. None where
// no row goes, before schema 2.
#pragma once

#include "../interval/interval.h"
#include "inputs.h"

namespace gpushim::analysis {

Intervals dropped_spans(const Trace& trace);

// Spans in which nothing was recorded because only a part of the run was asked for (GPUSHIM_STEPS, _SCHEDULE,
// _DELAY, _CAPTURE, gpushim.off). Steps are marked in them all the same.
Intervals rest_spans(const Trace& trace);

}  // namespace gpushim::analysis
