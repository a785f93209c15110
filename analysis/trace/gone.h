// Spans of a trace whose rows are gone: what happened in them is in its totals only. None where no row goes,
// before schema 2.
#pragma once

#include "../interval/interval.h"
#include "inputs.h"

namespace gpushim::analysis {

Intervals gone_spans(const Trace& trace);

}  // namespace gpushim::analysis
