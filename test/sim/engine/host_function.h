// A function of the program that a stream calls: it runs on the box's callback thread when its turn comes,
// and the stream goes on when it returns. In stepped mode it lasts as long as it advances the clock itself.
#pragma once

#include <functional>
#include <memory>

#include "operation.h"

namespace gpusim {

std::shared_ptr<Behaviour> host_function(std::function<void()> body);
// The same for a body that is told when it starts.
std::shared_ptr<Behaviour> host_function_at(std::function<void(Ns)> body);

}  // namespace gpusim
