// Device memory that processes share: the same bytes under two addresses.
#include "copy_forms.h"
#include "other_process.h"

namespace ipc_test {

namespace {

constexpr size_t kBytes = 100'000;

}  // namespace

TEST_CASE("memory opened from another process holds its bytes, in both directions", "[ipc]") {
    Channel to_us, to_them;
    OtherProcess other(
        [&] {
            make_context();
            device_memory(700);  // so that the shared one does not begin on a page
            const CUdeviceptr mine = device_memory(kBytes);
            const Bytes bytes = pattern(kBytes, 1);
            CUipcMemHandle handle{};
            CU(cuMemcpyHtoD_v2(mine, bytes.data(), kBytes));
            CU(cuIpcGetMemHandle(&handle, mine + 10));
            to_us.send(handle);
            to_them.receive<char>();
            Bytes seen(kBytes);
            CU(cuMemcpyDtoH_v2(seen.data(), mine, kBytes));
            to_us.send(seen == pattern(kBytes, 2));
        },
        OtherProcess::Wait::no);
    make_context();
    const auto handle = to_us.receive<CUipcMemHandle>();
    CUdeviceptr opened = 0, again = 0;
    CU(cuIpcOpenMemHandle_v2(&opened, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
    Bytes seen(kBytes);
    CU(cuMemcpyDtoH_v2(seen.data(), opened, kBytes));
    CHECK(seen == pattern(kBytes, 1));
    seen = pattern(kBytes, 2);
    CU(cuMemcpyHtoD_v2(opened, seen.data(), kBytes));
    CU(cuCtxSynchronize());
    to_them.send('!');
    CHECK(to_us.receive<bool>());
    CU_IS(cuMemcpyHtoD_v2(opened + 1, seen.data(), kBytes), CUDA_ERROR_INVALID_VALUE);
    CU(cuIpcOpenMemHandle(&again, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
    CHECK(again == opened);
    CU_IS(cuMemFree_v2(opened), CUDA_ERROR_INVALID_VALUE);
    CU(cuIpcCloseMemHandle(opened));
    CU(cuMemcpyDtoH_v2(seen.data(), opened, kBytes));
    CU(cuIpcCloseMemHandle(opened));
    CU_IS(cuIpcCloseMemHandle(opened), CUDA_ERROR_INVALID_VALUE);
    CU_IS(cuMemcpyDtoH_v2(seen.data(), opened, kBytes), CUDA_ERROR_INVALID_VALUE);
}

TEST_CASE("handles that cannot be made or opened", "[ipc]") {
    Channel to_us;
    OtherProcess other([&] {
        make_context();
        CUipcMemHandle handle{};
        CU(cuIpcGetMemHandle(&handle, device_memory(64)));
        to_us.send(handle);
    });
    make_context();
    CUipcMemHandle handle{};
    CUdeviceptr opened = 0;
    CU_IS(cuIpcGetMemHandle(&handle, pinned_memory(64)), CUDA_ERROR_INVALID_VALUE);
    CU_IS(cuIpcGetMemHandle(&handle, 0), CUDA_ERROR_INVALID_VALUE);
    CU(cuIpcGetMemHandle(&handle, device_memory(64)));
    CU_IS(cuIpcOpenMemHandle_v2(&opened, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS),
          CUDA_ERROR_INVALID_CONTEXT);
    handle = to_us.receive<CUipcMemHandle>();
    CU_IS(cuIpcOpenMemHandle_v2(&opened, handle, 0), CUDA_ERROR_INVALID_VALUE);
    other.kill_now();
    CU_IS(cuIpcOpenMemHandle_v2(&opened, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS),
          CUDA_ERROR_INVALID_HANDLE);
    CU_IS(cuIpcOpenMemHandle_v2(&opened, CUipcMemHandle{}, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS),
          CUDA_ERROR_INVALID_HANDLE);
}

TEST_CASE("opened memory counts as its owner's", "[ipc]") {
    Channel to_us;
    OtherProcess other([&] {
        make_context();
        CUipcMemHandle handle{};
        CU(cuIpcGetMemHandle(&handle, device_memory(1 << 20)));
        to_us.send(handle);
    });
    CUcontext context = make_context();
    size_t before = 0, left = 0, total = 0;
    CUdeviceptr opened = 0;
    CU(cuMemGetInfo_v2(&before, &total));
    CU(cuIpcOpenMemHandle_v2(&opened, to_us.receive<CUipcMemHandle>(), CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
    CU(cuMemGetInfo_v2(&left, &total));
    CHECK(left == before);
    CU(cuCtxDestroy_v2(context));
    make_context();
    CU_IS(cuIpcCloseMemHandle(opened), CUDA_ERROR_INVALID_VALUE);
}

}  // namespace ipc_test
