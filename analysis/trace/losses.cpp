#include "losses.h"

#include <string_view>

#include "../text/units.h"

namespace gpushim::analysis {

namespace {

struct Meaning {
    std::string_view reason, text;
};
constexpr Meaning kMeanings[] = {
    {"full", "the rings were full: the writer got too little processor time, or the disk was slow"},
    {"no_ring", "a thread got no ring: /dev/shm is full or too small for so many threads"},
    {"writer_down", "the writer had ended: the program closed the trace's files, or memory ran out"},
    {"reader", "another program kept the trace open for reading, so nothing could be written"},
    {"disk", "less than GPUSHIM_MIN_FREE_MB was free where the trace is, or the disk failed"},
    {"size", "the trace has reached GPUSHIM_MAX_MB, and nothing more in it could be removed"},
};

}  // namespace

void add_losses(const Database& trace, Losses& losses) {
    Query query = trace.prepare("SELECT reason, sum(events) FROM v_drop GROUP BY reason");
    while (query.step())
        if (query.number(1) > 0) losses[query.text(0)] += query.number(1);
}

std::string loss_text(const std::string& reason, int64_t events) {
    std::string_view meaning = "for a reason that this version of gpushim does not know";
    for (const Meaning& known : kMeanings)
        if (known.reason == reason) meaning = known.text;
    return count_text(events) + (events == 1 ? " event was" : " events were") + " lost (" + reason +
           "): " + std::string(meaning);
}

}  // namespace gpushim::analysis
