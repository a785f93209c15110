// Memory of this process that may go while it is read: read by the kernel, so that what is gone is an error
// and not a fault. Cold threads.
#pragma once

#include <sys/uio.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>

namespace gpushim::shim {

inline bool read_own(uint64_t from, void* to, size_t bytes) {
    const iovec here = {to, bytes};
    const iovec there = {reinterpret_cast<void*>(from), bytes};
    return from != 0 && process_vm_readv(getpid(), &here, 1, &there, 1, 0) == static_cast<ssize_t>(bytes);
}

// Pieces of one size, one after the other into `to`. At most IOV_MAX.
inline bool read_own_pieces(const iovec* there, size_t count, void* to, size_t bytes_each) {
    const iovec here = {to, count * bytes_each};
    return process_vm_readv(getpid(), &here, 1, there, count, 0) == static_cast<ssize_t>(count * bytes_each);
}

template <class T>
bool read_own(uint64_t from, T& to) {
    return read_own(from, &to, sizeof to);
}

// What `T` stands at an offset of a piece that was read.
template <class T>
T part_of(const unsigned char* piece, size_t offset) {
    T value;
    __builtin_memcpy(&value, piece + offset, sizeof value);
    return value;
}

}  // namespace gpushim::shim
