// The variables of the environment that are stored with a trace: they change how fast things are. Nothing
// else of the environment is.
#pragma once

#include <cstddef>
#include <cstring>

namespace gpushim::shim {

// One of them, as it was when recording began.
struct Variable {
    const char* name;
    const char* value;
};

// A name that ends in * stands for all that begin so.
constexpr const char* kPerformanceVariables[] = {
    "CUDA_CACHE_DISABLE",
    "CUDA_DEVICE_MAX_CONNECTIONS",
    "CUDA_DEVICE_ORDER",
    "CUDA_LAUNCH_BLOCKING",
    "CUDA_MODULE_LOADING",
    "CUDA_SCALE_LAUNCH_QUEUES",
    "CUDA_VISIBLE_DEVICES",
    "CUBLAS_WORKSPACE_CONFIG",
    "CUBLASLT_WORKSPACE_SIZE",
    "CUDNN_*",
    "JAX_ENABLE_X64",
    "JAX_PLATFORMS",
    "KMP_AFFINITY",
    "KMP_BLOCKTIME",
    "LIBXLA_*",
    "MKL_NUM_THREADS",
    "NCCL_*",
    "NVIDIA_TF32_OVERRIDE",
    "NVIDIA_VISIBLE_DEVICES",
    "OMP_NUM_THREADS",
    "OMP_PROC_BIND",
    "OPENBLAS_NUM_THREADS",
    "PYTORCH_ALLOC_CONF",
    "PYTORCH_CUDA_ALLOC_CONF",
    "PYTORCH_NO_CUDA_MEMORY_CACHING",
    "TF_CUDNN_*",
    "TF_ENABLE_*",
    "TF_FORCE_GPU_ALLOW_GROWTH",
    "TF_GPU_ALLOCATOR",
    "TF_GPU_THREAD_COUNT",
    "TF_GPU_THREAD_MODE",
    "TF_NUM_INTEROP_THREADS",
    "TF_NUM_INTRAOP_THREADS",
    "TF_XLA_FLAGS",
    "TORCHINDUCTOR_*",
    "TORCH_ALLOW_TF32_CUBLAS_OVERRIDE",
    "TORCH_CUDNN_*",
    "TORCH_NCCL_*",
    "XLA_FLAGS",
    "XLA_PYTHON_CLIENT_*",
};
// Parts of names that stand for secrets.
constexpr const char* kSecretParts[] = {"TOKEN", "SECRET", "PASSWORD", "KEY", "CREDENTIAL", "COMM_ID"};

constexpr bool name_matches(const char* wanted, const char* name, size_t length) {
    size_t i = 0;
    while (wanted[i] != '\0' && wanted[i] != '*' && i < length && wanted[i] == name[i]) ++i;
    return wanted[i] == '*' || (wanted[i] == '\0' && i == length);
}

// `entry` is NAME=value.
inline bool is_performance_variable(const char* entry) {
    const char* equals = strchr(entry, '=');
    if (equals == nullptr) return false;
    const auto length = static_cast<size_t>(equals - entry);
    for (const char* secret : kSecretParts)
        if (memmem(entry, length, secret, strlen(secret)) != nullptr) return false;
    for (const char* wanted : kPerformanceVariables)
        if (name_matches(wanted, entry, length)) return true;
    return false;
}

}  // namespace gpushim::shim
