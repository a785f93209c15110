#include "condition.h"

#include <cmath>

#include "api.h"
#include "device.h"
#include "engine/box_state.h"
#include "engine/device_facts.h"
#include "engine/heat.h"
#include "engine/knobs.h"
#include "values.h"

namespace gpusim::nvml {
namespace {

double busy_power_mw() { return knobs().power_w * 1e3; }

double between(double idle, double busy, double share) { return idle + (busy - idle) * share; }

unsigned rounded(double value) { return static_cast<unsigned>(std::lround(value)); }

}  // namespace

Condition condition(int device, Ns now, Ns past_ns) {
    const double busy = box::busy_share(device, Engine::compute, now, past_ns);
    const double copying = box::busy_share(device, Engine::copy, now, past_ns);
    const bool idle = busy == 0 && copying == 0;
    Condition c;
    c.busy_percent = rounded(busy * 100);
    c.copy_percent = rounded(copying * 100);
    c.power_mw = rounded(between(values::kPowerIdleMw, busy_power_mw(), busy));
    c.sm_mhz = idle ? values::kIdleSmMhz : static_cast<unsigned>(knobs().sm_mhz);
    c.memory_mhz = facts::kMemoryClockMhz;
    c.gpu_c = rounded(between(values::kIdleTempC, knobs().temp_c, busy));
    c.throttle_reasons = static_cast<unsigned long long>(knobs().throttle);
    if (idle) c.throttle_reasons |= nvmlClocksEventReasonGpuIdle;
    if (const int mhz = held_mhz(device); mhz != 0 && !idle) {
        c.sm_mhz = static_cast<unsigned>(mhz);
        c.gpu_c = values::kSlowdownC;
        c.throttle_reasons |= nvmlClocksEventReasonSwThermalSlowdown;
    }
    c.memory_c = c.gpu_c + values::kMemoryWarmerC;
    return c;
}

Condition condition(int device) { return condition(device, box_now(), kSamplePeriodNs); }

unsigned long long energy_mj(int device) {
    const double busy_s = static_cast<double>(box::busy_ns(device, Engine::compute)) * 1e-9;
    const double since_start_s = static_cast<double>(box_now()) * 1e-9;
    return static_cast<unsigned long long>(values::kPowerIdleMw * since_start_s +
                                           (busy_power_mw() - values::kPowerIdleMw) * busy_s);
}

}  // namespace gpusim::nvml
