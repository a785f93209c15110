// What names of planes, lines and events, and texts of details, tell.
#include "analysis/importer/xplane/xplane_words.h"

#include <catch2/catch.hpp>

#include "analysis/importer/api_kinds.h"

namespace xplane_words_test {

using namespace gpushim::analysis;

using Three = std::array<int64_t, 3>;

TEST_CASE("planes and lines say whose they are", "[xplane]") {
    CHECK(gpu_of_plane("/device:GPU:12") == 12);
    CHECK(!gpu_of_plane("/device:GPU:"));
    CHECK(!gpu_of_plane("/device:GPU:1x"));
    CHECK(!gpu_of_plane("/device:TPU:0"));
    CHECK(is_plane_of_threads("/host:CPU"));
    CHECK(is_plane_of_threads("/host:CUPTI"));
    CHECK(!is_plane_of_threads("/host:metadata"));
    CHECK(stream_of_line("Stream #134(Compute,MemcpyD2D)") == 134);
    CHECK(stream_of_line("Stream #7") == 7);
    for (const char* line :
         {"Steps", "XLA Ops", "TensorFlow Ops", "Source", "Stream #", "Stream #7x", "Stream"})
        CHECK(!stream_of_line(line));
    CHECK(thread_of_ranges("Host Threads/4712/NVTX") == 4712);
    CHECK(!thread_of_ranges("Host Threads/4712"));
    CHECK(is_derived_line(static_cast<int64_t>(18446744073150512882u)));
    CHECK(is_derived_line(0xdeadbeef));
    CHECK(!is_derived_line(4712));
    CHECK(!is_derived_line(0x12345678deadbeef));
}

TEST_CASE("details of kernels, of three versions", "[xplane]") {
    const XplaneDetails old = details_in("regs:38 shm:48 grid:160,2,1 block:1024,1,1");
    CHECK(old.grid == Three{160, 2, 1});
    CHECK(old.block == Three{1024, 1, 1});
    CHECK(old.shared_bytes == 48);
    const XplaneDetails now =
        details_in("regs:38 static_shared:16 dynamic_shared:32 grid:8,2,1 block:128,1,1 occ_pct:62.5");
    CHECK(now.grid == Three{8, 2, 1});
    CHECK(now.shared_bytes == 48);
    // Not set by the profiler: a look at memory of others.
    const XplaneDetails wild = details_in("regs:1 grid:2256,139757090178736,971983408 block:0,0,0");
    CHECK(!wild.grid);
    CHECK(!wild.block);
    CHECK(!wild.shared_bytes);
}

TEST_CASE("details of copies and memsets", "[xplane]") {
    const XplaneDetails old = details_in("size:112 dest:4 async:0");
    CHECK(old.bytes == 112);
    CHECK(old.is_async == 0);
    CHECK(old.source == 0);
    const XplaneDetails now = details_in("kind_src:pinned kind_dst:device_static size:8 dest:4 async:1");
    CHECK(now.bytes == 8);
    CHECK(now.is_async == 1);
    CHECK(now.source == 2);
    CHECK(now.target == 4);
    CHECK(details_in("kind:device num_bytes:512 async:1").bytes == 512);
    for (const char* text :
         {"", " ", ":", "size:", "size:x", "size:-1", "size:99999999999999999999", "grid:1,2"}) {
        CHECK(!details_in(text).bytes);
        CHECK(!details_in(text).grid);
    }
}

TEST_CASE("what ran is what its name says", "[xplane]") {
    CHECK(work_named("MemcpyD2H").kind == XplaneKind::copy);
    CHECK(work_named("MemcpyD2H").direction == 2);
    CHECK(work_named("Memset").kind == XplaneKind::set);
    CHECK(work_named("CudaGraph:7").kind == XplaneKind::graph);
    CHECK(work_named("MemoryAlloc").kind == XplaneKind::other);
    CHECK(work_named("MemcpyKernelOfTheProgram").kind == XplaneKind::kernel);
    CHECK(work_named("loop_add_fusion").kind == XplaneKind::kernel);
}

TEST_CASE("calls have their own name, or that of what they asked for", "[xplane]") {
    CHECK(call_named("cuMemcpyDtoHAsync_v2", false) == "cuMemcpyDtoHAsync_v2");
    CHECK(call_named("cuGraphLaunch (CudaGraph:12)", false) == "cuGraphLaunch");
    CHECK(call_named("hipModuleLaunchKernel", false) == "hipModuleLaunchKernel");
    CHECK(call_named("void Eigen::internal::EigenMetaKernel<int>(int)", false) == "cuLaunchKernel");
    CHECK(call_named("cudnn_conv", false) == "cuLaunchKernel");
    CHECK(call_named("MemcpyH2D", false) == "cuMemcpyHtoDAsync");
    CHECK(call_named("MemcpyH2D", true) == "cuMemcpyHtoD");
    CHECK(kind_of_api(call_named("MemcpyH2D", true)).trait == ApiTrait::blocking);
    for (const char* name : {"MemcpyH2D", "MemcpyD2D", "MemcpyP2P", "MemcpyOther"})
        CHECK(kind_of_api(call_named(name, false)).kind == "copy");
    CHECK(kind_of_api(call_named("Memset", false)).kind == "memset");
}

}  // namespace xplane_words_test
