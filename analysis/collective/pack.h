// How long a GPU packs gradients into what is reduced, and unpacks them again, in one step. Copies within the
// GPU and kernels that concatenate or split, by their names:
//
//   compute   █backward█                           █adam█
//   copies              ▒cat▒         ▒copy▒▒split▒
//   comm                     ░░reduce░
//                      |pack|         |───unpack───|      pack: behind the last kernel of the backward pass
//                                                         unpack: before the first of the optimizer
//
// The backward pass is any kernel before the last collective that does not merely go over an array: a
// product, say. What goes over arrays (scaling, norms, filling) parts nothing. What is packed while the
// backward pass goes on is not told from the pass itself, and not counted. Pure; any thread.
#pragma once

#include <optional>
#include <vector>

#include "../interval/interval.h"

namespace gpushim::analysis {

enum class StepOpKind : uint8_t { reduces, concatenates, splits, copies, optimizes, works };
struct StepOp {
    Interval span;
    StepOpKind kind;
};

struct PackTimes {
    int64_t pack_ns = 0, unpack_ns = 0;  // unions
};
// Of the operations of one step on one GPU, in any order. None: nothing was reduced before the optimizer.
std::optional<PackTimes> pack_times(const std::vector<StepOp>& of_step);

}  // namespace gpushim::analysis
