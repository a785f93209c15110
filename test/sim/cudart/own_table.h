// What the box's driver gives to this runtime alone, behind cuGetExportTable: functions that are no exports,
// so nobody who stands between the two sees a call of them. NVIDIA's have such tables, too; a runtime that
// asks for one of those is refused. Any thread.
#pragma once

#include <cuda.h>

namespace cudart {

struct OwnTable {
    // Makes the context the thread's current one, in place of the one that was.
    CUresult (*use_context)(CUcontext context);
};
constexpr CUuuid kOwnTable = {{'g', 'p', 'u', 's', 'i', 'm', ' ', 'r', 'u', 'n', 't', 'i', 'm', 'e', 0, 1}};

}  // namespace cudart
