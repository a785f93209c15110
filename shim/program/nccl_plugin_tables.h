// Our functions of each interface (nccl_plugin_layout.h), and what they have counted. Any thread.
#pragma once

#include "nccl_plugin.h"

namespace gpushim::shim {

// For NCCL: a Functions<…> of that interface. Null: there is none.
void* nccl_functions(int interface);

NcclPluginState nccl_view_state();  // without `refused`

}  // namespace gpushim::shim
