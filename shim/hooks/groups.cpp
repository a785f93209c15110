#include "groups.h"

namespace gpushim::shim {

thread_local constinit GroupState group_state __attribute__((tls_model("initial-exec"))) = {};
constinit std::atomic<uint32_t> groups = 0;

}  // namespace gpushim::shim
