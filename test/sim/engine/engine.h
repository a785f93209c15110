// The heart of the box: takes operations, works out when they run, and lets callers wait for them. One lock
// guards all of it, and all objects of the driver on top; nothing sleeps or spins while holding it.
#pragma once

#include <initializer_list>
#include <mutex>

#include "operation.h"

namespace gpusim::engine {

using Lock = std::unique_lock<std::mutex>;
[[nodiscard]] Lock lock();

// Issues `op` after all of `after`; the returned point is its end. Needs the lock.
Point issue(Operation op, std::initializer_list<const Point*> after);

// Works out all that can be worked out. True if anything came of it. Needs the lock.
bool pump();

// Whether `point` is reached now: time has come and bytes are in place. Needs the lock; in stepped mode it
// may be given up while another rank's times are not known yet.
bool reached(Point& point, Lock& lock);

// Blocks until `point` is reached. The lock is given up meanwhile and held again afterwards.
void wait(Point& point, Lock& lock);

// Starts the box's attendant thread where something is open that nobody may ever ask for. Needs the lock.
void attend();

}  // namespace gpusim::engine
