// Steps of another tool's trace, where its marks or what repeats in it do not tell how they ran.
//
//   host   |─1─|─2─|─3─|               the host is ahead, and what a step launched runs after its mark
//   GPU           |──1──|──2──|──3──|  steps are from where the first work of each ran to the next one's,
//                                      and hold what was called between their marks (TraceFacts::called);
//                                      so, too, if the GPU only falls behind and never waits between them,
//                                      and of steps without marks
//
//   range  |── one ──|                 one step was recorded, and its work ran on behind its mark: the step
//   GPU     |────work────|             ends with it
//
//   range  |──────────── one ────────────|   all that was launched and ran lies in one range: that is the
//   GPU      |─layer─|─layer─|─layer─|       step, and what repeats in it is part of one
//
// What repeats without a mark is no step where it is next to nothing of what GPUs did.
// One thread.
#pragma once

#include "facts.h"

namespace gpushim::analysis {

// Another tool recorded it; of our own traces, and of those that we exported, that is not so.
bool is_profile(const Trace& trace);

// Changes what was found, if it should be changed: of a profile alone.
void correct_steps_of_profile(TraceFacts& facts);
// Of another tool's trace of a program that serves, in which one iteration was recorded: a step from where
// its first operation ran to where its last one ended.
void take_as_one_iteration(TraceFacts& facts);
// … in which one or two iterations are known whole, with less than half of what GPUs did in them.
void refuse_iterations_that_hold_little(TraceFacts& facts);

}  // namespace gpushim::analysis
