"""Names of functions that nobody has told the shim: asked only where the driver checks what it is given."""

import box
import preload

SOURCE = """
#include <cuda.h>
#include <string.h>
#include <unistd.h>
#define PTX ".version 7.0\\n.target sm_50\\n.address_size 64\\n.entry listed__1us()\\n{\\nret;\\n}\\n"
// names launch|node: a kernel whose handle the library was asked to list, launched or put into a graph.
int main(int count, char** words) {
    CUdevice device; CUcontext context; CUlibrary library; CUkernel kernel;
    if (cuInit(0) || cuDeviceGet(&device, 0) || cuDevicePrimaryCtxRetain(&context, device)) return 9;
    if (cuCtxSetCurrent(context)) return 10;
    if (cuLibraryLoadData(&library, PTX, 0, 0, 0, 0, 0, 0)) return 8;
    if (cuLibraryEnumerateKernels(&kernel, 1, library)) return 7;
    if (!strcmp(words[1], "node")) {
        CUgraph graph; CUgraphExec ready; CUgraphNode node;
        CUDA_KERNEL_NODE_PARAMS_v2 params;
        memset(&params, 0, sizeof params);
        params.kern = kernel;
        params.gridDimX = params.gridDimY = params.gridDimZ = 1;
        params.blockDimX = params.blockDimY = params.blockDimZ = 1;
        if (cuGraphCreate(&graph, 0) || cuGraphAddKernelNode(&node, graph, NULL, 0, &params)) return 6;
        if (cuGraphInstantiateWithFlags(&ready, graph, 0) || cuGraphLaunch(ready, 0)) return 5;
    } else {
        for (int i = 0; i < 60; ++i) {  // until the writer has seen one, and wished for its name
            for (int n = 0; n < 100; ++n)
                if (cuLaunchKernel((CUfunction)kernel, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0)) return 4;
            usleep(10000);
        }
    }
    return cuCtxSynchronize();
}
"""
OLD, NEW = 12040, 13000  # the first checks no handle
KNOWN = "SELECT count(*) FROM v_handle WHERE name = 'listed__1us' OR symbol = 'listed__1us'"


class Names(preload.PreloadCase):
    def known(self, how, version):
        program = self.folder / "names"
        if not program.exists():
            preload.compiled(SOURCE, program)
        out = self.folder / f"{how}.{version}.db"
        done = box.run([program, how], {**preload.variables(self.folder), "GPUSHIM_OUT": out,
                                        "GPUSIM_VERSION": version})
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))
        return preload.query(out, KNOWN)[0][0]

    def test_of_a_launched_handle_an_old_driver_is_asked_nothing(self):
        self.assertEqual((self.known("launch", OLD), self.known("launch", NEW)), (0, 1))

    def test_a_node_says_what_kind_of_handle_it_has(self):
        self.assertEqual((self.known("node", OLD), self.known("node", NEW)), (1, 1))
