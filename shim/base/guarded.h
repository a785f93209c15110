// Functions of ours that SQLite calls: what they throw ends here, as an error of SQLite's. Through SQLite it
// must not go, which would keep pointers into frames that are gone.
#pragma once

#include <sqlite3.h>

namespace gpushim::shim {

template <auto function>
struct Guarded;
template <class... Words, int (*function)(Words...)>
struct Guarded<function> {
    static int call(Words... words) {
        try {
            return function(words...);
        } catch (...) {
            return SQLITE_NOMEM;
        }
    }
};
template <class... Words, void (*function)(sqlite3_context*, Words...)>
struct Guarded<function> {
    static void call(sqlite3_context* to, Words... words) {
        try {
            function(to, words...);
        } catch (...) {
            sqlite3_result_error_nomem(to);
        }
    }
};
template <auto function>
constexpr auto guarded = &Guarded<function>::call;

}  // namespace gpushim::shim
