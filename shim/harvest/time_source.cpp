#include "time_source.h"

#include "../base/config.h"
#include "cupti_harvest.h"
#include "harvest.h"

namespace gpushim::shim {

std::unique_ptr<Observer> make_time_source(std::span<const Device> devices) {
    switch (config.device_time) {
        case DeviceTime::off:
            return nullptr;
        case DeviceTime::cupti:
            return make_cupti_harvest(devices);
        default:
            return make_event_harvest(devices);
    }
}

}  // namespace gpushim::shim
