// Where in its Python a thread is that has made no call for a while, and where one is that is launching a
// kernel: tables python_code, python_frame, python_sample and python_launch. At most 100 times a second for
// each thread, the rarer the longer it has made none, and at most kPythonShare of a processor in all. Nobody
// is looked at before the thread has made a call, and in a gap not before 2 ms; nothing is done where there
// is no interpreter. In stepped time nobody is looked at: the interpreter's threads do not live by it.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "../machine/device.h"
#include "../rows/observer.h"

namespace gpushim::shim {

constexpr double kPythonShare = 0.005;
constexpr int64_t kPythonEveryNs = 10'000'000;
constexpr int64_t kPythonQuietNs = 2'000'000;
constexpr int64_t kPythonLaunchEveryNs = 20'000'000;

// From one sample of a thread to the next, in a gap that is `age_ns` old. `chance` of 0 to 1: samples at
// whole steps would see a loop always in the same place.
constexpr int64_t next_python_sample_ns(int64_t age_ns, double chance) {
    const int64_t apart_ns = age_ns / 8 > kPythonEveryNs ? age_ns / 8 : kPythonEveryNs;
    return apart_ns + static_cast<int64_t>(chance * 0.5 * static_cast<double>(apart_ns));
}

// Null: GPUSHIM_PYTHON=off.
std::unique_ptr<Observer> make_python_sampler(std::span<const Device>);

}  // namespace gpushim::shim
