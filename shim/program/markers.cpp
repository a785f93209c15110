#include "markers.h"

#include <cstring>

#include "../ring/recorder.h"
#include "capture_range.h"

namespace gpushim::shim {
namespace {

constexpr size_t kLongestMark = 1024;

void record(Marker marker, uint64_t value, const char* text) {
    ThreadState& thread = thread_state;
    const size_t length = text != nullptr ? strnlen(text, kLongestMark) : 0;
    if (!has_room(thread, 1 + (length + kTextBytes - 1) / kTextBytes)) return;
    Slot* slot = open_slot(thread, kNoApi, EventKind::marker, 0);
    if (slot == nullptr) return;
    put_words(*slot, event::marker{value, static_cast<uint64_t>(marker), length});
    slot->exit = slot->enter;
    append_text(thread, text, length);
    complete_slot(slot);
}

// Steps are recorded also while the rest is not: they are counted. What the one before did ends with the
// mark, what this one does begins with it.
void record_step(Marker marker, uint64_t samples) {
    if (!is_written()) return;
    const bool was_resting = resting();
    if (was_resting) step_begins();
    record(marker, samples, nullptr);
    if (!was_resting) step_begins();
}

}  // namespace

void record_marker(Marker marker) { record(marker, 0, nullptr); }

}  // namespace gpushim::shim

using gpushim::Marker;
using namespace gpushim::shim;

void gpushim_step() { record_step(Marker::step, 0); }
void gpushim_step_n(uint64_t samples) { record_step(Marker::step_n, samples); }
void gpushim_mark(const char* text) {
    if (recording()) record(Marker::mark, 0, text);
}
