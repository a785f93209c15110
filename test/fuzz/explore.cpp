// The program of libFuzzer: FUZZ_TARGET says which target.
#include <cstdint>
#include <cstdlib>

#include "target.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
    static const char* const name = std::getenv("FUZZ_TARGET");
    static const fuzz::Target& target = fuzz::target_named(name != nullptr ? name : "");
    target.run({reinterpret_cast<const char*>(bytes), size});
    return 0;
}
