#include "current_context.h"

#include "../base/system.h"
#include "../calls/questions.h"
#include "../ring/recorder.h"
#include "contexts.h"

namespace gpushim::shim {
namespace {

// Its own, and those that the call may need that it stands before: no event of the program's is to be missing
// because of it.
constexpr uint64_t kSlots = 1 + 2;

bool say_context(ThreadState& thread, uint64_t handle) {
    if (!find_room(thread, kSlots)) return false;
    Slot* slot = open_slot(thread, kNoApi, EventKind::context, 0);
    if (slot == nullptr) return false;
    put_words(*slot, event::context{handle, static_cast<uint64_t>(device_of_current_context() + 1)});
    slot->exit = slot->enter;
    complete_slot(slot);
    return true;
}

}  // namespace

void ask_for_context(ThreadState& thread) {
    const KeepErrno keep;
    const auto handle = reinterpret_cast<uint64_t>(current_context());
    thread.context = context_number(handle);
    if (thread.context == 0) return;
    if (!say_context(thread, handle)) thread.context = 0;
}

}  // namespace gpushim::shim
