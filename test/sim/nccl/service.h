// NCCL's service thread: does what it is given at the times that it is given, in real time when they come; in
// stepped time at once, and the clock shows it those times. Any thread.
#pragma once

#include <functional>
#include <vector>

#include "engine/clock.h"

namespace gpusim::nccl::service {

struct Moment {
    Ns at;
    std::function<void()> act;
};

void push(std::vector<Moment> moments);  // in order of time
void wait_until_idle();

}  // namespace gpusim::nccl::service
