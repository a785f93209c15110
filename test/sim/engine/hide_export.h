// Takes an exported name away from a loaded library, as if it had been built without it: GPUSIM_MISSING makes
// an older driver this way. Later symbol look-ups no longer find it; references already bound stay. Only
// while the library is being loaded (constructors), before other threads look names up in it.
#pragma once

namespace gpusim {

// `inside`: any address in the library. False where the library does not export `name`.
bool hide_export(const void* inside, const char* name);

}  // namespace gpusim
