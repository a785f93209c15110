#include "histogram_functions.h"

#include <cstddef>
#include <cstdint>
#include <span>

#include "../base/guarded.h"
#include "histogram.h"

namespace gpushim::shim {
namespace {

void add_value(Histogram& sum, sqlite3_value* value) {
    const auto* bytes = static_cast<const uint8_t*>(sqlite3_value_blob(value));
    if (bytes != nullptr) sum.add({bytes, static_cast<size_t>(sqlite3_value_bytes(value))});
}
void give(sqlite3_context* to, Histogram& sum) {
    const std::span<const uint8_t> bytes = sum.bytes();
    if (!bytes.empty())
        sqlite3_result_blob(to, bytes.data(), static_cast<int>(bytes.size()), SQLITE_TRANSIENT);
}
void sum_of_two(sqlite3_context* to, int, sqlite3_value** values) {
    Histogram sum;
    add_value(sum, values[0]);
    add_value(sum, values[1]);
    give(to, sum);
}
// SQLite gives a place of zeros, and calls sum_ends for each.
void sum_goes_on(sqlite3_context* to, int, sqlite3_value** values) {
    auto** sum = static_cast<Histogram**>(sqlite3_aggregate_context(to, sizeof(Histogram*)));
    if (sum == nullptr) return sqlite3_result_error_nomem(to);
    if (*sum == nullptr) *sum = new Histogram;
    add_value(**sum, values[0]);
}
void sum_ends(sqlite3_context* to) {
    auto** sum = static_cast<Histogram**>(sqlite3_aggregate_context(to, 0));
    if (sum == nullptr || *sum == nullptr) return;
    give(to, **sum);
    delete *sum;
}

void of_one(sqlite3_context* to, int, sqlite3_value** values) {
    Histogram one;
    if (sqlite3_value_type(values[0]) != SQLITE_NULL) one.add(sqlite3_value_int64(values[0]), 1);
    give(to, one);
}

}  // namespace

int make_histogram_functions(sqlite3* base) {
    constexpr int kPure = SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS;
    const auto make = [base](const char* name, int values, auto once, auto step, auto end) {
        return sqlite3_create_function_v2(base, name, values, kPure, nullptr, once, step, end, nullptr);
    };
    int code = make("histogram_sum", 2, guarded<sum_of_two>, nullptr, nullptr);
    if (code == SQLITE_OK) code = make("histogram_sum", 1, nullptr, guarded<sum_goes_on>, guarded<sum_ends>);
    if (code == SQLITE_OK) code = make("histogram_of", 1, guarded<of_one>, nullptr, nullptr);
    return code;
}

}  // namespace gpushim::shim
