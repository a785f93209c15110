// One call of the runtime; prints the error it returned and whether it stays the last one.
#include "check.h"

int main() {
    int count = 0;
    const cudaError_t error = cudaGetDeviceCount(&count);
    std::printf("%s %s\n", cudaGetErrorName(error), cudaGetErrorName(cudaGetLastError()));
}
