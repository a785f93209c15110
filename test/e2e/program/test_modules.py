"""Modules come and go, and their functions' addresses are used again: every launch has the right name."""

import preload

MODULES, NAMES, TWICE_EVERY = 3000, 41, 3

PROGRAM = f"""
#include "one_gpu.h"
int main(void) {{
    CUfunction first = 0;
    int again = 0;
    open_gpu();
    for (int i = 0; i < {MODULES}; ++i) {{
        char name[32];
        snprintf(name, sizeof name, "kernel%d__1us", i % {NAMES});
        MUST(cuModuleLoadData(&module, "an image"));
        const CUfunction function = kernel_of(name);
        if (i == 0) first = function;
        again += function == first;
        for (int times = 0; times <= (i % {TWICE_EVERY} == 0); ++times) launch_one(function, 0);
        MUST(cuModuleUnload(module));
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
