// A run at one moment as JSON, for scripts: `gpushim top --json`. top.schema.json has every key.
#pragma once

#include "../live/figures.h"
#include "../text/json.h"

namespace gpushim::analysis {

Json top_json(const RunNow& run);

}  // namespace gpushim::analysis
