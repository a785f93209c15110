// What is known of ranks beside each other: that none holds the others back is known only where they could be
// compared.
#pragma once

#include "part.h"

namespace gpushim::analysis {

bool is_one_rank(const PageInput& input);
// Nor where one was late in all of too few steps.
bool compares_ranks(const PageInput& input);
// Something is reduced or gathered, whether or not it is known how much.
bool reduces(const PageInput& input);

}  // namespace gpushim::analysis
