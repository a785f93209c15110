#include "aside.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "heap.h"
#include "nameless_file.h"

namespace gpushim::analysis {

namespace {

constexpr size_t kLeastPiece = 1 << 20, kMostPiece = 64 << 20;  // as much again as there is, but for these
constexpr size_t kAlign = 64;

size_t rounded(size_t bytes, size_t to) { return (bytes + to - 1) / to * to; }

}  // namespace

Aside::Aside(std::filesystem::path folder, size_t in_memory, size_t read_at_once)
    : folder_(std::move(folder)), in_memory_(in_memory), most_read_(read_at_once) {}

Aside::~Aside() {
    for (const Piece& piece : pieces_) munmap(piece.at, piece.bytes);
    if (file_ >= 0) close(file_);
}

void* Aside::take(const void* bytes, size_t count) {
    if (count == 0) return nullptr;
    std::byte* const room = room_for(count);
    if (room == nullptr) return nullptr;
    std::memcpy(room, bytes, count);
    if (read(count)) give_back_heap();  // holes that they left, of which the next ones need not fit into any
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
    const auto from = static_cast<off_t>(file_bytes_);
    const size_t size =
        rounded(std::max(bytes, std::clamp(file_bytes_, kLeastPiece, kMostPiece)), kLeastPiece);
    if (file_ < 0 || posix_fallocate(file_, from, static_cast<off_t>(size)) != 0) return false;
    void* const at = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, file_, from);
    if (at == MAP_FAILED) return false;
    file_bytes_ += size;
    pieces_.push_back({static_cast<std::byte*>(at), size, 0});
    is_full_ = false;
    return true;
}

bool Aside::read(size_t bytes) {
    if ((read_ += bytes) < most_read_) return false;
    rest();
    return true;
}

void Aside::rest() {
    read_ = 0;
    const std::lock_guard lock(mutex_);
    for (const Piece& piece : pieces_) madvise(piece.at, piece.bytes, MADV_DONTNEED);
}

}  // namespace gpushim::analysis
