#include "markers.h"

#include <cstring>

#include "recorder.h"

namespace gpushim::shim {
namespace {

constexpr size_t kLongestMark = 1024;

void record(Marker marker, uint64_t value, const char* text) {
    if (!recording()) return;
    ThreadState& thread = thread_state;
    const size_t length = text != nullptr ? strnlen(text, kLongestMark) : 0;
    if (!has_room(thread, 1 + (length + kTextBytes - 1) / kTextBytes)) return;
    Slot* slot = open_slot(thread, kNoApi, EventKind::marker, 0);
    if (slot == nullptr) return;
    slot->word[0] = value;
    slot->word[1] = static_cast<uint64_t>(marker);
    slot->word[2] = length;
    slot->word[3] = 0;
    slot->exit = slot->enter;
    append_text(thread, text, length);
    complete_slot(slot);
}

}  // namespace
}  // namespace gpushim::shim

using gpushim::Marker;
using gpushim::shim::record;

void gpushim_step() { record(Marker::step, 0, nullptr); }
void gpushim_step_n(uint64_t samples) { record(Marker::step_n, samples, nullptr); }
void gpushim_mark(const char* text) { record(Marker::mark, 0, text); }
