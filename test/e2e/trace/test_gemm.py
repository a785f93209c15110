"""Matrix products of cuBLAS and cuBLASLt: what the trace says of calls that the program is linked to."""
import pathlib
import platform
import unittest

import box
import optional
import preload

SOURCE = pathlib.Path(__file__).resolve().parent / "gemm/products.cpp"
STEPPED = {"GPUSIM_CLOCK": "stepped"}
COLUMNS = "api, m, n, k, batch, a_type, b_type, c_type, compute, flops, bytes, failed"
# By hand: flops are 2 m n k for each product; bytes are those of A and B, once where all share one, and of C.
EXPECTED = [
    ("cublasSgemm_v2", 1024, 512, 256, 1, *["float32"] * 3, None, 268435456, 3670016, 0),
    ("cublasGemmEx", 64, 32, 8192, 1, *["float16"] * 3, "float32", 33554432, 1576960, 0),
    ("cublasDgemmBatched", 16, 8, 4, 10, *["float64"] * 3, None, 10240, None, 0),
    ("cublasHgemmStridedBatched_64", 128, 64, 32, 6, *["float16"] * 3, None, 3145728, 151552, 0),
    ("cublasLtMatmul", 96, 32, 64, 4, "float8e4m3", "float8e5m2", "bfloat16", "float32", 1572864, 38912, 0),
    ("cublasSgemm_v2", *[None] * 10, 1),
]

TWO_VERSIONS = r"""
#include <cuda.h>
#include <dlfcn.h>
#include <stdio.h>
int cublasSgemm_v2(void*, int, int, int, int, int, void*, void*, int, void*, int, void*, void*, int);
static int multiply(void) { return cublasSgemm_v2(0, 0, 0, 1, 1, 1, 0, 0, 1, 0, 1, 0, 0, 1); }
int main(int count, char** words) {
    CUcontext context;
    if (cuInit(0) || cuCtxCreate(&context, 0, 0, 0)) return 1;
    const int first = multiply();
    void* plugin = dlopen(words[1], RTLD_NOW);
    void* older = plugin ? dlopen("libcublas.so.11", RTLD_NOW | RTLD_NOLOAD) : 0;
    if (!older) return puts(dlerror()), 1;
    const int linked = ((int (*)(void))dlsym(plugin, "multiply"))();
    const int asked = ((int (*)(void))dlsym(older, "cublasSgemm_v2"))();
    printf("%d %d %d %d\n", first, linked, asked, multiply());
    return 0;
}
"""

# Calls from code that it makes itself, before and after another copy comes, and counts which objects anybody
# looks at meanwhile.
MADE = r"""
#define _GNU_SOURCE
#include <cuda.h>
#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
int cublasSgemm_v2(void*, int, int, int, int, int, void*, void*, int, void*, int, void*, void*, int);
typedef int (*Visit)(struct dl_phdr_info*, size_t, void*);
struct Visitor { Visit visit; void* data; };
static int looked_at;
static int counted(struct dl_phdr_info* info, size_t size, void* data) {
    const struct Visitor* who = data;
    ++looked_at;
    return who->visit(info, size, who->data);
}
int dl_iterate_phdr(Visit visit, void* data) {
    int (*next)(Visit, void*) = (int (*)(Visit, void*))dlsym(RTLD_NEXT, "dl_iterate_phdr");
    struct Visitor who = {visit, data};
    return next(counted, &who);
}
static int many(int (*multiply)(void*)) {
    int sum = 0;
    for (int i = 0; i < 1000; ++i) sum += multiply(0);
    return sum;
}
int main(int count, char** words) {
    CUcontext context;
    if (cuInit(0) || cuCtxCreate(&context, 0, 0, 0)) return 1;
    // sub rsp,8; mov rax,ADDRESS; call rax; add rsp,8; ret
    unsigned char code[] = {0x48, 0x83, 0xec, 8, 0x48, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0,
                            0xff, 0xd0, 0x48, 0x83, 0xc4, 8, 0xc3};
    void* product = (void*)cublasSgemm_v2;
    memcpy(code + 6, &product, sizeof product);
    void* made = mmap(0, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memcpy(made, code, sizeof code);
    int sum = many((int (*)(void*))made);
    looked_at = 0;
    sum += many((int (*)(void*))made);
    const int seen = looked_at;
    void* plugin = dlopen(words[1], RTLD_NOW);
    if (!plugin) return puts(dlerror()), 1;
    const int linked = ((int (*)(void))dlsym(plugin, "multiply"))();
    printf("%d %d %d %d\n", sum, linked, many((int (*)(void*))made), seen < 2500);
    return 0;
}
"""


def program(folder):
    options = [f"-l:{library}" for library in ("libcublas.so.12", "libcublasLt.so.12")]
    include = ("-std=c++20", "-I", box.ROOT, "-I", box.ROOT / "test/sim")
    return preload.compiled(SOURCE.read_text(encoding="utf-8"), folder / "products", *options, compiler="g++",
                            before=include)


class Products(preload.PreloadCase):
    def test_sizes_types_and_operations(self):
        done = self.traced([program(self.folder)], **STEPPED)
        self.assertEqual(done.stdout, "done\n")
        trace = self.the_trace()
        self.assertEqual(preload.query(trace, f"SELECT {COLUMNS} FROM v_gemm ORDER BY enter_ns"), EXPECTED)
        self.assert_nothing_lost(trace)

    def test_wherever_the_library_keeps_its_descriptions(self):
        self.traced([program(self.folder)], GPUSIM_CUBLASLT_ORDER=5, **STEPPED)
        rows = preload.query(self.the_trace(), f"SELECT {COLUMNS} FROM v_gemm ORDER BY enter_ns")
        self.assertEqual(rows, EXPECTED)

    def test_each_call_once_around_its_own_launches(self):
        """The box's cuBLAS goes on to cublasLtMatmul, by the exported name."""
        self.traced([program(self.folder)], **STEPPED)
        rows = preload.query(self.the_trace(), """
            SELECT g.api, group_concat(l.kernel, ' ') FROM v_gemm g LEFT JOIN v_launch l
            ON l.thread_id = g.thread_id AND l.enter_ns >= g.enter_ns AND l.enter_ns < g.exit_ns
            GROUP BY g.enter_ns ORDER BY g.enter_ns""")
        half = "ampere_fp16_s16816gemm_fp16_128x128_ldg8_f2f_stages_32x5_nn"
        self.assertEqual(rows, [("cublasSgemm_v2", "ampere_sgemm_128x64_nn"),
                                ("cublasGemmEx", f"{half} splitKreduce_kernel__2us"),
                                ("cublasDgemmBatched", "cutlass_80_tensorop_d884gemm_128x64_16x3_nn_align1"),
                                ("cublasHgemmStridedBatched_64", half),
                                ("cublasLtMatmul", "ampere_sgemm_128x64_nn"),
                                ("cublasSgemm_v2", None)])

    def test_switched_off(self):
        self.traced([program(self.folder)], GPUSHIM_CUBLAS="off", **STEPPED)
        trace = self.the_trace()
        self.assertEqual(preload.query(trace, "SELECT (SELECT count(*) FROM gemm), count(*) FROM launch"),
                         [(0, 12)])
        self.assert_nothing_lost(trace)

    def test_a_program_without_the_libraries_notices_nothing(self):
        """Also one that asks whether they are there."""
        source = """
            #include <cuda.h>
            #include <dlfcn.h>
            #include <stdio.h>
            int main(void) {
                CUcontext context;
                if (cuInit(0) || cuCtxCreate(&context, 0, 0, 0)) return 1;
                const char* names[] = {"cublasSgemm_v2", "cublasGemmEx_64", "cublasLtMatmul"};
                for (int i = 0; i < 3; ++i) puts(dlsym(RTLD_DEFAULT, names[i]) ? "there" : "not there");
                return 0;
            }"""
        without = preload.compiled(source, self.folder / "without")
        done = self.traced([without])
        self.assertEqual(done.stdout, "not there\n" * 3)
        self.assertEqual(preload.query(self.the_trace(), "SELECT count(*) FROM gemm"), [(0,)])

    def older_and_its_plugin(self):
        older, plugin = self.folder / "libcublas.so.11", self.folder / "plugin.so"
        versions = self.folder / "versions"
        versions.write_text("libcublas.so.11 { global: cublas*; local: *; };", encoding="utf-8")
        library = ("-shared", "-fPIC", f"-L{self.folder}")
        preload.compiled("int cublasSgemm_v2(void) { return 4711; }", older, *library,
                         "-Wl,-soname,libcublas.so.11", f"-Wl,--version-script={versions}")
        # Not the last that it does: a jump would make it a call of its caller's.
        preload.compiled("int cublasSgemm_v2(void);\n"
                         "int multiply(void) { return cublasSgemm_v2() - 1; }", plugin, *library,
                         "-l:libcublas.so.11", f"-Wl,-rpath,{self.folder}")
        return plugin

    @unittest.skipUnless(platform.machine() == "x86_64", optional.lacks("x86"))
    def test_code_that_was_made_at_run_time(self):
        """It is in no object: its calls go on in the first copy, and cost no search of all objects each time.
        A copy that comes later is still given the calls of those who need it."""
        made = preload.compiled(MADE, self.folder / "made", "-l:libcublas.so.12", "-rdynamic")
        done = self.traced([made, self.older_and_its_plugin()], **STEPPED)
        self.assertEqual(done.stdout, "2000 4710 1000 1\n")
        self.assertEqual(preload.query(self.the_trace(), "SELECT count(*) FROM gemm"), [(3000,)])

    def test_two_versions_in_one_process(self):
        """Each caller goes on in the one that it is linked to; recorded are calls of the first."""
        plugin = self.older_and_its_plugin()
        linked = preload.compiled(TWO_VERSIONS, self.folder / "two", "-l:libcublas.so.12")
        for knobs in ({}, {"GPUSHIM_CUBLAS": "off"}, {"GPUSHIM_DISABLE": "1"}):
            with self.subTest(**knobs):
                done = self.traced([linked, plugin], **knobs, **STEPPED)
                # 1: it was not given a handle
                self.assertEqual(done.stdout, "1 4710 4711 1\n")
        rows = [preload.query(trace, "SELECT count(*) FROM gemm")[0][0] for trace in self.traces()]
        self.assertEqual(sorted(rows), [0, 2])
