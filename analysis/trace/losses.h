// Events that a trace counts as lost, by reason, and what the reasons mean. Pure.
#pragma once

#include <map>
#include <string>

#include "../sqlite/database.h"

namespace gpushim::analysis {

using Losses = std::map<std::string, int64_t>;  // reason -> events

void add_losses(const Database& trace, Losses& losses);

// One sentence for people: how many, why, and what to do about it.
std::string loss_text(const std::string& reason, int64_t events);

}  // namespace gpushim::analysis
