// What copies are called in rows.
#pragma once

#include "../../trace/call.h"

namespace gpushim::analysis {

constexpr int64_t kSmallCopyBytes = 4096;  // a value that somebody looks at, not data

constexpr bool is_copy(const Call& call) {
    return call.kind == CallKind::operation &&
           (call.type == OperationClass::h2d || call.type == OperationClass::d2h ||
            call.type == OperationClass::d2d || call.type == OperationClass::p2p ||
            call.type == OperationClass::copy);
}

constexpr const char* copy_kind(OperationClass type) {
    switch (type) {
        case OperationClass::h2d:
            return "h2d";
        case OperationClass::d2h:
            return "d2h";
        case OperationClass::d2d:
            return "d2d";
        case OperationClass::p2p:
            return "p2p";
        default:
            return "unknown";
    }
}

constexpr const char* memory_kind(int64_t side) {
    constexpr const char* kKinds[] = {"unknown", "pageable", "pinned", "managed", "device", "array"};
    return side >= 0 && side <= 5 ? kKinds[side] : "unknown";
}
constexpr const char* source_of(int64_t sides) { return sides < 0 ? "unknown" : memory_kind(sides & 7); }
constexpr const char* target_of(int64_t sides) { return sides < 0 ? "unknown" : memory_kind(sides >> 3); }

}  // namespace gpushim::analysis
