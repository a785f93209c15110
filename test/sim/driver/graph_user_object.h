// User objects: something of the program's that lives as long as anybody, also a graph or a running launch of
// one, holds a reference. Its destructor runs on the box's callback thread. All under engine::lock().
#pragma once

#include "objects.h"

namespace gpusim::driver {

struct UserObject {
    void* pointer = nullptr;
    CUhostFn destroy = nullptr;
    unsigned references = 0;
};

namespace user_object {

void retain(UserObject& object, unsigned count);
void release(UserObject& object, unsigned count);

}  // namespace user_object
}  // namespace gpusim::driver
