// What Kineto's words mean: categories, and names of copies such as "Memcpy HtoD (Pageable -> Device)". Pure.
#pragma once

#include <optional>
#include <string_view>

#include "kineto_event.h"

namespace gpushim::analysis {

std::string_view kineto_kind_name(KinetoKind kind);
// None: a category that holds no events of ours. `name` tells steps and memory from what shares theirs.
std::optional<KinetoKind> kineto_kind(std::string_view category, std::string_view name);
void name_tells_memory(KinetoEvent& event);  // of a copy or a set: fills direction and memories

}  // namespace gpushim::analysis
