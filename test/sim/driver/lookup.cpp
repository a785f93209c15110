// cuGetProcAddress: which export serves a base name at a version, by the rules of the documentation: the
// highest version not above the one asked for; a per-thread form only where that is asked for, else the
// legacy one.
#include <cstring>
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

// The best row among those with or without a per-thread suffix.
const ExportRow* best(const Rows& rows, int version, bool per_thread) {
    const ExportRow* chosen = nullptr;
    for (const ExportRow* row : rows) {
        if (row->version > version || (row->per_thread != PerThread::none) != per_thread) continue;
        if (chosen == nullptr || row->version > chosen->version) chosen = row;
    }
    return chosen;
}

struct Answer {
    const ExportRow* row = nullptr;
    CUdriverProcAddressQueryResult status = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
};

Answer look_up(std::string_view base, int version, bool per_thread) {
    const Rows* rows = rows_of(base);
    if (rows == nullptr) return {};
    const ExportRow* row = per_thread ? best(*rows, version, true) : nullptr;
    if (row == nullptr) row = best(*rows, version, false);
    if (row == nullptr) return {nullptr, CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT};
    return {row, CU_GET_PROC_ADDRESS_SUCCESS};
}

CUresult get(const char* symbol, void** address, int version, cuuint64_t flags,
             CUdriverProcAddressQueryResult* status) {
    if (symbol == nullptr || address == nullptr || (flags & ~kLookupFlags) != 0 || flags == kLookupFlags)
        return CUDA_ERROR_INVALID_VALUE;
    if (version > knobs().version) return CUDA_ERROR_INVALID_VALUE;
    const bool per_thread = (flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM) != 0;
    const Answer answer = look_up(symbol, version, per_thread);
    if (status != nullptr) *status = answer.status;
    *address = answer.row != nullptr ? const_cast<void*>(answer.row->address) : nullptr;
    return answer.row != nullptr ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

}  // namespace

API(cuGetProcAddress)(const char* symbol, void** address, int version, cuuint64_t flags) {
    return get(symbol, address, version, flags, nullptr);
}
API(cuGetProcAddress_v2)
(const char* symbol, void** address, int version, cuuint64_t flags, CUdriverProcAddressQueryResult* status) {
    // By the documentation a miss is no error of this form: the address is null and the status says why.
    const CUresult result = get(symbol, address, version, flags, status);
    return result == CUDA_ERROR_NOT_FOUND ? CUDA_SUCCESS : result;
}
