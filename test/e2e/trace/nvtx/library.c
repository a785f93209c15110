// What frameworks have in a library of their own, for programs in Python.
#include <nvtx3/nvToolsExt.h>

int range_push(const char* text) { return nvtxRangePushA(text); }
int range_pop(void) { return nvtxRangePop(); }
void mark(const char* text) { nvtxMarkA(text); }
