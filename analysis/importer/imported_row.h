// One thing of a trace that is being brought in, as it is sorted: everything by number, texts elsewhere.
// Times as the source has them; kNone: not recorded.
#pragma once

#include <cstdint>
#include <tuple>
#include <type_traits>

namespace gpushim::analysis {

// In the order in which those that begin together are written: a range ends before the next begins.
enum class ImportedWhat : uint8_t { pop, push, within, call, target, kernel, copy, set, graph, gap, inside };

// Of pop and push.
enum class ImportedRange : uint8_t { nested, free, mark };

struct ImportedRow {
    static constexpr int64_t kNone = INT64_MIN;
    static constexpr int32_t kNobody = -1;

    int64_t correlation = kNone;
    int64_t enter_ns = kNone,
            call_ns = kNone;                   // on the host; of a range its own begin or end, and its length
    int64_t start_ns = kNone, ran_ns = kNone;  // on the device
    // Of an operator (`within`) its sequence number, and correlation is its thread as the source has it.
    // Bytes; of a collective's kernel its number; of a call its event. Of a gap ns on a CPU, and ran_ns is
    // that without one, correlation how many samples there are.
    int64_t number = kNone;
    int32_t api = kNobody, thread = kNobody, stream = kNobody;
    int32_t name = kNobody;  // of a range; of a kernel what it looks like (ImportedNames)
    int32_t collective = kNobody;
    ImportedWhat what = ImportedWhat::call;
    uint8_t direction = 0;  // of a copy; of a range its ImportedRange; of a thread what it was inside of
    uint8_t sides = 0, flags = 0;
};

constexpr int64_t kNotThere = ImportedRow::kNone;
static_assert(std::is_trivially_copyable_v<ImportedRow> && sizeof(ImportedRow) == 72);

// Where a source gives what is less than 0 for what it does not know.
constexpr int64_t known(int64_t value) { return value < 0 ? ImportedRow::kNone : value; }

// Calls before what they asked for.
struct ByCorrelation {
    bool operator()(const ImportedRow& a, const ImportedRow& b) const {
        return std::tie(a.correlation, a.what, a.enter_ns, a.start_ns) <
               std::tie(b.correlation, b.what, b.enter_ns, b.start_ns);
    }
};

// Of ranges that begin together the longest comes first, of those that end together the shortest; of
// operations that one call asked for the one that ran first.
struct ByEnter {
    bool operator()(const ImportedRow& a, const ImportedRow& b) const {
        const int64_t then_a = then(a), then_b = then(b);
        return std::tie(a.enter_ns, a.what, then_a, a.correlation) <
               std::tie(b.enter_ns, b.what, then_b, b.correlation);
    }
    static int64_t then(const ImportedRow& row) {
        if (row.what == ImportedWhat::push || row.what == ImportedWhat::within) return -row.call_ns;
        return row.what == ImportedWhat::pop ? row.call_ns : row.start_ns;
    }
};

}  // namespace gpushim::analysis
