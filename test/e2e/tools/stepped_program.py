"""What C programs for the box's stepped clock begin with: a stream, an image in which every name is a kernel,
and a main() around what each does."""
import preload

STEPPED = {"GPUSIM_CLOCK": "stepped"}
HEAD = r"""
#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>
#define CHECK(call) do { CUresult r = call; if (r) { printf("%s: %d\n", #call, r); exit(1); } } while (0)
void gpusim_advance_ns(long long ns);
static CUstream stream;
static CUmodule module;
static CUfunction kernel(const char* name) {
    CUfunction function;
    CHECK(cuModuleGetFunction(&function, module, name));
    return function;
}
static void launch(const char* name, CUstream to) {
    CHECK(cuLaunchKernel(kernel(name), 1, 1, 1, 32, 1, 1, 0, to, 0, 0));
}
"""
MAIN = r"""
int main(int count, char** words) {
    CUcontext context;
    CHECK(cuInit(0));
    CHECK(cuCtxCreate(&context, 0, 0, 0));
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CHECK(cuModuleLoadData(&module, "an image"));
    BODY
    return 0;
}
"""


def compiled(folder, body, before=""):
    """The program that does `body` in main(), after `before`."""
    return preload.compiled(HEAD + before + MAIN.replace("BODY", body), folder / "program", "-l:libgpusim.so")
