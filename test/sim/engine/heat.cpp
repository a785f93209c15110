#include "heat.h"

#include <cstdio>
#include <cstdlib>

#include "box_state.h"
#include "knobs.h"

namespace gpusim {
namespace {

struct Heat {
    double after_s = 0;  // of work
    int mhz = 0;         // 0: never
};

Heat read_heat() {
    Heat heat;
    const auto& text = knobs().hot;
    if (!text.empty() &&
        (std::sscanf(text.c_str(), "%lf:%d", &heat.after_s, &heat.mhz) != 2 || heat.mhz <= 0)) {
        std::fprintf(stderr, "gpusim: GPUSIM_HOT=%s is not <seconds>:<MHz>\n", text.c_str());
        std::_Exit(2);
    }
    return heat;
}

}  // namespace

int held_mhz(int device) {
    static const Heat heat = read_heat();
    if (heat.mhz == 0) return 0;
    const double worked_s = static_cast<double>(box::busy_ns(device, Engine::compute)) * 1e-9;
    return worked_s >= heat.after_s ? heat.mhz : 0;
}

double heat_factor(int device) {
    const int mhz = held_mhz(device);
    return mhz == 0 ? 1.0 : static_cast<double>(knobs().sm_mhz) / mhz;
}

}  // namespace gpusim
