// What the compiler's headers ask of libstdc++ since GCC 11, for what is linked with that of the system.
#include <new>

namespace std {

__attribute__((visibility("hidden"))) void __throw_bad_array_new_length() { throw bad_array_new_length(); }

}  // namespace std
