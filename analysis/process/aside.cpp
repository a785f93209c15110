#include "aside.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "heap.h"
#include "nameless_file.h"

namespace gpushim::analysis {

namespace {

constexpr size_t kLeastPiece = 1 << 20, kMostPiece = 64 << 20;  // as much again as there is, but for these
constexpr size_t kAlign = 64;

size_t rounded(size_t bytes, size_t to) { return (bytes + to - 1) / to * to; }

// A run is written to the same disk: as much as lies here is left to it. Where the disk is memory itself,
// nothing is won.
bool has_room(int file, size_t bytes) {
    struct statfs disk;
    if (fstatfs(file, &disk) != 0 || disk.f_type == TMPFS_MAGIC || disk.f_type == RAMFS_MAGIC) return false;
    return bytes <= static_cast<size_t>(disk.f_bavail) * static_cast<size_t>(disk.f_bsize) / 2;
}

bool give(int file, off_t from, size_t bytes) {
    int status;
    do status = fallocate(file, 0, from, static_cast<off_t>(bytes));
    while (status != 0 && errno == EINTR);
    return status == 0;
}

}  // namespace

Aside::Aside(std::filesystem::path folder, size_t in_memory, size_t read_at_once)
    : folder_(std::move(folder)), in_memory_(in_memory), read_at_once_(read_at_once) {}

Aside::~Aside() {
    for (const Piece& piece : pieces_) munmap(piece.at, piece.bytes);
    if (file_ >= 0) close(file_);
}

void* Aside::take(const void* bytes, size_t count) {
    if (count == 0) return nullptr;
    std::byte* const room = room_for(count);
    if (room == nullptr) return nullptr;
    std::memcpy(room, bytes, count);
    // Arrays that are put aside leave holes in the heap, into which the next ones need not fit.
    if (count_read(count)) give_back_heap();
    return room;
}

std::byte* Aside::room_for(size_t bytes) {
    const std::lock_guard lock(mutex_);
    const bool stays = stayed_ + bytes <= in_memory_;
    const size_t needed = rounded(bytes, kAlign);
    const bool has_piece = !pieces_.empty() && pieces_.back().bytes - pieces_.back().used >= needed;
    if (stays || (!has_piece && !add_piece(needed))) {
        stayed_ += bytes;
        return nullptr;
    }
    in_file_ += bytes;
    Piece& piece = pieces_.back();
    return piece.at + std::exchange(piece.used, piece.used + needed);
}

// All of it is given by the disk now: pages of a file that there is no room for would end the process later.
bool Aside::add_piece(size_t bytes) {
    if (is_full_) return false;
    is_full_ = true;  // unless all of this succeeds
    if (file_ < 0) file_ = nameless_file(folder_);
    const size_t size =
        rounded(std::max(bytes, std::clamp(file_bytes_, kLeastPiece, kMostPiece)), kLeastPiece);
    if (file_ < 0 || !has_room(file_, size + file_bytes_)) return false;
    const auto from = static_cast<off_t>(file_bytes_);
    const bool is_given = give(file_, from, size);
    void* const at =
        is_given ? mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, file_, from) : MAP_FAILED;
    if (at == MAP_FAILED) {
        // A disk that is full gives what it has all the same.
        if (ftruncate(file_, from) != 0) close(std::exchange(file_, -1));
        return false;
    }
    file_bytes_ += size;
    pieces_.push_back({static_cast<std::byte*>(at), size, 0});
    is_full_ = false;
    return true;
}

bool Aside::count_read(size_t bytes) {
    if ((read_ += bytes) < read_at_once_) return false;
    rest();
    return true;
}

size_t Aside::in_file() const {
    const std::lock_guard lock(mutex_);
    return in_file_;
}

void Aside::rest() {
    read_ = 0;
    const std::lock_guard lock(mutex_);
    for (const Piece& piece : pieces_) madvise(piece.at, piece.bytes, MADV_DONTNEED);
}

}  // namespace gpushim::analysis
