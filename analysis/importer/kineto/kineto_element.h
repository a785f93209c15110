// One element of traceEvents, from its text to an event. Pure; any thread.
#pragma once

#include <cstdint>

#include "json_scanner.h"
#include "kineto_event.h"

namespace gpushim::analysis {

struct KinetoOptions {
    bool python_functions = false;  // often most of a trace
    bool cpu_ops = true;
    bool numbers_count = true;  // a last number in the file's name is a rank
};

// Why an element is no event.
enum class KinetoSkip : uint8_t {
    none,  // it is one
    not_asked_for,
    flow,      // arrows: correlation says the same
    metadata,  // but for names of processes and threads
    instant,   // but for memory
    counter,
    other_phase,       // a `ph` we do not know, or none
    unknown_category,  // KinetoSummary::by_category names them
    bad_time,          // none, no number, or beyond what fits
    bad_duration,      // the same, or less than 0
    not_an_object,
    malformed,
    too_large,
    kCount
};
std::string_view kineto_skip_name(KinetoSkip why);

struct KinetoElement {
    KinetoEvent event;
    KinetoSkip skip = KinetoSkip::none;
    uint64_t values_ignored = 0;
};

// From the element's `{` to behind its `}`. Only good if `json` is neither cut nor wrong afterwards.
void read_element(JsonScanner& json, const KinetoOptions& options, KinetoElement& element);

}  // namespace gpushim::analysis
