#include "spread.h"

#include <sqlite3.h>

#include <algorithm>
#include <cmath>
#include <new>
#include <vector>

#include "../failure.h"

namespace gpushim::analysis {

namespace {

constexpr int kPure = SQLITE_UTF8 | SQLITE_DETERMINISTIC;

// SQLite gives the memory, zeroed, and takes it back: a pointer in it is all it may hold.
struct Values {
    std::vector<double>* list;
};

void add_value(sqlite3_context* context, int, sqlite3_value** values) {
    if (sqlite3_value_type(values[0]) == SQLITE_NULL) return;
    auto* all = static_cast<Values*>(sqlite3_aggregate_context(context, sizeof(Values)));
    if (all == nullptr) return sqlite3_result_error_nomem(context);
    try {
        if (all->list == nullptr) all->list = new std::vector<double>;
        all->list->push_back(sqlite3_value_double(values[0]));
    } catch (const std::bad_alloc&) {
        sqlite3_result_error_nomem(context);
    }
}

double median_of(std::vector<double>& values) {
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    if (values.size() % 2 != 0) return *middle;
    return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

double deviation_of(std::vector<double>& values) {
    if (values.size() < 2) return 0;
    double sum = 0, squares = 0;
    for (const double value : values) sum += value;
    const double mean = sum / static_cast<double>(values.size());
    for (const double value : values) squares += (value - mean) * (value - mean);
    return std::sqrt(squares / static_cast<double>(values.size() - 1));
}

template <double (*figure)(std::vector<double>&)>
void finish(sqlite3_context* context) {
    const auto* all = static_cast<Values*>(sqlite3_aggregate_context(context, 0));
    if (all == nullptr || all->list == nullptr) return sqlite3_result_null(context);
    sqlite3_result_double(context, figure(*all->list));
    delete all->list;
}

}  // namespace

void add_spread(sqlite3* base) {
    const int median = sqlite3_create_function_v2(base, "median", 1, kPure, nullptr, nullptr, add_value,
                                                  finish<median_of>, nullptr);
    const int stdev = sqlite3_create_function_v2(base, "stdev", 1, kPure, nullptr, nullptr, add_value,
                                                 finish<deviation_of>, nullptr);
    if (median != SQLITE_OK || stdev != SQLITE_OK) throw Failure(sqlite3_errmsg(base));
}

}  // namespace gpushim::analysis
