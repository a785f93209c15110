// cuGetProcAddress: which export serves a base name at a version, as drivers 535 to 555 do it: the highest
// version not above the one asked for, which may be above the driver's own (the documentation says not); of a
// name that has per-thread forms, where those are asked for, none but those.
#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "engine/knobs.h"
#include "entry.h"

using namespace gpusim;
using namespace gpusim::driver;

namespace {

constexpr cuuint64_t kLookupFlags =
    CU_GET_PROC_ADDRESS_LEGACY_STREAM | CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;

using Rows = std::vector<const ExportRow*>;

const Rows* rows_of(std::string_view base) {
    static const auto* const by_base = [] {
        auto* made = new std::unordered_map<std::string_view, Rows>;
        for (const ExportRow& row : export_rows)
            if (is_there(row)) (*made)[row.base].push_back(&row);
        return made;
    }();
    const auto found = by_base->find(base);
    return found != by_base->end() ? &found->second : nullptr;
}

bool is_per_thread(const ExportRow* row) { return row->per_thread != PerThread::none; }

// The best row among those with or without a per-thread suffix. The driver takes a version as unsigned.
const ExportRow* best(const Rows& rows, unsigned version, bool per_thread) {
    const ExportRow* chosen = nullptr;
    for (const ExportRow* row : rows) {
        if (static_cast<unsigned>(row->version) > version || is_per_thread(row) != per_thread) continue;
        if (chosen == nullptr || row->version > chosen->version) chosen = row;
    }
    return chosen;
}

struct Answer {
    const ExportRow* row = nullptr;
    CUdriverProcAddressQueryResult status = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
};

Answer look_up(std::string_view base, unsigned version, bool per_thread) {
    const Rows* rows = rows_of(base);
    if (rows == nullptr) return {};
    const bool has_such = per_thread && std::any_of(rows->begin(), rows->end(), is_per_thread);
    const ExportRow* row = best(*rows, version, has_such);
    if (row == nullptr) return {nullptr, CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT};
    return {row, CU_GET_PROC_ADDRESS_SUCCESS};
}

struct Found {
    CUresult result;
    Answer answer;
};

Found get(const char* symbol, void** address, int version, cuuint64_t flags) {
    // The driver crashes for want of a name or of an address.
    if (symbol == nullptr || address == nullptr || (flags & ~kLookupFlags) != 0)
        return {CUDA_ERROR_INVALID_VALUE, {}};
    const bool per_thread = (flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM) != 0;
    const Answer answer = look_up(symbol, static_cast<unsigned>(version), per_thread);
    if (answer.row == nullptr) return {CUDA_ERROR_NOT_FOUND, answer};
    *address = const_cast<void*>(answer.row->address);
    return {CUDA_SUCCESS, answer};
}

}  // namespace

API(cuGetProcAddress)(const char* symbol, void** address, int version, cuuint64_t flags) {
    return get(symbol, address, version, flags).result;  // a miss leaves the address as it is
}
API(cuGetProcAddress_v2)
(const char* symbol, void** address, int version, cuuint64_t flags, CUdriverProcAddressQueryResult* status) {
    const auto [result, answer] = get(symbol, address, version, flags);
    if (result == CUDA_ERROR_INVALID_VALUE) return result;
    if (status != nullptr) *status = answer.status;
    // A miss is no error of this form: the address is null and the status says why.
    if (answer.row == nullptr) *address = nullptr;
    return CUDA_SUCCESS;
}
