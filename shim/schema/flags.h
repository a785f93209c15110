// The bits of `flags` in all event tables and in `series`, and the questions that readers ask about them. For
// the library and for the analyzer.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace gpushim {

constexpr int64_t kRowCaptured = 1;    // into a graph: the call ran nothing
constexpr int64_t kRowFailed = 2;      // the call returned an error
constexpr int64_t kRowUnfinished = 4;  // the process ended inside the call: dur_ns is NULL
constexpr int64_t kRowRecovered = 8;   // the row was written after the process had died
constexpr int64_t kRowInferred = 16;   // the link to its group is inferred
constexpr int64_t kRowBlocking = 32;   // copy, memset: a form of the call that may block the host

// `row` is a table or its alias. 0 or 1 in SQL.
inline std::string sql_bit(int64_t bit, std::string_view row) {
    return "(" + std::string(row) + ".flags & " + std::to_string(bit) + ") / " + std::to_string(bit);
}

// A question about the flags of a row: yes if of these bits exactly those that are wanted are set. The same
// in C++ and in SQL, where flags that are NULL answer nothing.
struct FlagTest {
    int64_t bits, wanted;

    constexpr bool operator()(int64_t flags) const { return (flags & bits) == wanted; }
    std::string sql(std::string_view row = {}) const {
        return std::string(row) + (row.empty() ? "" : ".") + "flags & " + std::to_string(bits) + " = " +
               std::to_string(wanted);
    }
};
constexpr FlagTest kRan = {kRowCaptured | kRowFailed | kRowUnfinished, 0};  // when the call was made
constexpr FlagTest kMayHaveRun = {kRowCaptured | kRowFailed, 0};
constexpr FlagTest kSucceeded = {kRowFailed | kRowUnfinished, 0};  // it may have been captured
constexpr FlagTest kReturned = {kRowUnfinished, 0};
// What becomes of an event, in the ledger: one of these, or it is unfinished.
constexpr FlagTest kWasRecorded = {kRowUnfinished | kRowRecovered, 0};
constexpr FlagTest kWasRecovered = {kRowUnfinished | kRowRecovered, kRowRecovered};

}  // namespace gpushim
