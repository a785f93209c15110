// What stands above all parts of a run's page: what ran, what is wrong with it, and the figures to be seen
// first.
#pragma once

#include "part.h"

namespace gpushim::analysis {

Markup headline(const PageInput& input);

}  // namespace gpushim::analysis
