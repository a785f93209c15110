// What a call has to do with captures that are under way: which streams it is in, and what it has put into
// one. Nothing while there are none. On the program's thread; inlined into each thunk.
#pragma once

#include <tuple>

#include "../timing/captures.h"
#include "../timing/stream_callers.h"
#include "captured.h"
#include "row_facts.h"
#include "stream_words.h"

namespace gpushim::shim {

template <class Row, class... A>
struct CallInCapture {
    using Facts = RowFacts<Row>;

    // Before the call, so that nobody reads what the driver keeps of a stream that this call may change.
    // True: leave_streams() after it.
    [[gnu::always_inline]] static inline bool enter([[maybe_unused]] ThreadState& thread,
                                                    [[maybe_unused]] const A&... a) {
        constexpr int word = Facts::stream_of_call;
        if constexpr (word == kNoStream) return false;
        if (!captures_active() && !has<Row>(traits::capture_begins)) [[likely]]
            return false;
        if constexpr (word >= 0)
            enter_stream(thread, Row::Words::template word<word>(std::tuple<const A&...>(a...)));
        else
            enter_streams(thread);
        return true;
    }

    // After it, in its slot.
    static void mark(const ThreadState& thread, Slot& slot) {
        constexpr int word = stream_word(Row::kind, Row::traits);
        if constexpr (word != kNoStream) {
            if (captures_active() && (slot.flags & kFailed) == 0) [[unlikely]]
                look_into_capture(thread, slot, reinterpret_cast<CUstream>(slot.word[word]), Row::traits,
                                  !Facts::is_late);
        }
    }
};

}  // namespace gpushim::shim
