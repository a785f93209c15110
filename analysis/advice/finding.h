// What a rule says: what was seen, what a change would save, and which change.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace gpushim::analysis {

// What is said of a finding, whatever its figures are.
struct Heading {
    const char* verdict;  // "input-bound": what a job is of which this is the first finding
    const char* title;    // "Waiting for data"
    const char* lead;     // "the GPU waits for data": what happens in the share of a step that it costs
    const char* change;   // "loading ahead, in more workers": what would take it away
};

// Of a step, in ns; where the run has no steps, of a second. Both bounds are predictions.
struct Gain {
    double low_ns = 0, high_ns = 0;
};

// A row of the run database that it was read from.
struct Evidence {
    std::string table;
    int64_t rowid;
};

enum class Kind {
    kGain,    // worth doing
    kNoGain,  // people do it, and here it would not help
    kNote,    // to know, without a gain of its own
};

// Words are safe to print once they went through the report; names in them come from the trace as they were.
struct Finding {
    std::string title;                 // what was seen, with its figures
    std::string where;                 // the line of Python in which the host was meanwhile; empty: not known
    const Heading* heading = nullptr;  // in place of its rule's
    std::string lead;                  // who or what it is, in a few words; empty: its rule's heading says it
    std::string change;                // what would take it away, in the words of its GPUs
    std::string try_it;                // in the words of the frameworks
    Gain gain;
    double confidence = 0;  // 0 to 1
    std::vector<Evidence> evidence;
    Kind kind = Kind::kGain;
    bool fills_step = false;     // it takes more of a step than all computing: nothing else matters before it
    bool in_some_steps = false;  // most steps have hardly any of it
    // Comes behind others of its scope that gain alike: its time is theirs, or may be a start, or does not
    // say why.
    bool yields = false;

    std::string text() const { return where.empty() ? title : title + "; " + where; }
};

}  // namespace gpushim::analysis
