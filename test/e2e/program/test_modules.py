"""Modules come and go, and their functions' addresses are used again: every launch has the right name."""

import preload

MODULES, NAMES, TWICE_EVERY = 3000, 41, 3

PROGRAM = f"""
#include <cuda.h>
#include <stdio.h>
int main(void) {{
    CUcontext context;
    CUfunction first = 0;
    int again = 0;
    if (cuInit(0) || cuCtxCreate(&context, 0, 0, 0)) return 1;
    for (int i = 0; i < {MODULES}; ++i) {{
        CUmodule module;
        CUfunction function;
        char name[32];
        snprintf(name, sizeof name, "kernel%d__1us", i % {NAMES});
        if (cuModuleLoadData(&module, "an image") || cuModuleGetFunction(&function, module, name)) return 2;
        if (i == 0) first = function;
        again += function == first;
        for (int times = 0; times <= (i % {TWICE_EVERY} == 0); ++times)
            if (cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, 0, 0, 0)) return 3;
        if (cuModuleUnload(module)) return 4;
    }}
    printf("%d\\n", again);
    return cuCtxSynchronize();
}}
"""


class Modules(preload.PreloadCase):
    def test_names_of_reused_addresses(self):
        program = preload.compiled(PROGRAM, self.folder / "modules")
        again = int(self.traced([program], **preload.QUICK).stdout)
        self.assertGreater(again, 10, "the driver used no address again: nothing is tested")
        rows = preload.query(self.the_trace(), "SELECT kernel FROM v_launch ORDER BY enter_ns")
        expected = [f"kernel{i % NAMES}__1us" for i in range(MODULES)
                    for _ in range(1 + (i % TWICE_EVERY == 0))]
        self.assertEqual([name for name, in rows], expected)
        self.assert_nothing_lost(self.the_trace())
        names = preload.query(self.the_trace(), "SELECT count(*) FROM name WHERE text LIKE 'kernel%'")
        self.assertEqual(names, [(NAMES,)])
