"""What C programs for the box's stepped clock begin with: a stream, an image in which every name is a kernel,
and a main() around what each does."""
import preload

STEPPED = {"GPUSIM_CLOCK": "stepped"}
HEAD = r"""
#include "one_gpu.h"
void gpusim_advance_ns(long long ns);
static CUstream stream;
static void launch(const char* name, CUstream to) { launch_one(kernel_of(name), to); }
"""
MAIN = r"""
int main(int count, char** words) {
    open_gpu();
    stream = new_stream();
    BODY
    return 0;
}
"""


def compiled(folder, body, before=""):
    """The program that does `body` in main(), after `before`."""
    return preload.compiled(HEAD + before + MAIN.replace("BODY", body), folder / "program", "-l:libgpusim.so")
