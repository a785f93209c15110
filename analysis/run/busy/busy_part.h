// The part that says how busy the GPUs of a trace were, with what, and why they were not: the tables of
// sql/tables/20_busy.sql. It registers itself; this is for who wants it alone.
#pragma once

#include <memory>

#include "../pass/part.h"

namespace gpushim::analysis {

std::unique_ptr<Part> make_busy_part(const TraceFacts& facts);

}  // namespace gpushim::analysis
