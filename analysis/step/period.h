// What a run repeats: the anchor whose occurrences begin its steps, or why none can be named. Calls the
// source twice, or up to fourteen times where it looks behind a start-up, and keeps nothing of it but bounded
// tables. Refuses rather than guesses: below a confidence of 0.8, or where two periods fit and nothing tells
// which is the step, there is none. One thread.
#pragma once

#include <string>

#include "reading.h"

namespace gpushim::analysis {

struct Period {
    bool is_found = false;
    std::string why;          // in one sentence: why not, or what there is to know of it
    bool is_of_part = false;  // none was found because what repeats is too little of the run
    Candidate anchor;
    std::optional<int32_t> lead_lane;  // signatures are of this lane's operations only
    int micro_steps = 1;               // anchors in one step
    MergeBy merge_by = MergeBy::nothing;
    double confidence = 0;        // 0 to 1
    bool updates_tell = false;    // a piece that trains nothing is no step
    bool begins_plainly = false;  // each step has an input, an optimizer or a sync
    double steps = 0;
    int64_t from_ns = INT64_MIN;  // where the loop begins: what is before it is start-up
    int64_t span_ns = 0;          // from the first anchor to the last
    Tally typical;                // what lies between two anchors, most often
    Tally early;                  // and the first time it was like the one before
};

std::string in_words(const Candidate& anchor);
Period find_period(const TokenSource& source);

}  // namespace gpushim::analysis
