#include "input_stream.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>

#include "../../failure.h"
#include "../../terminal/progress.h"

namespace gpushim::analysis {

namespace {

constexpr size_t kBlock = 256 << 10;
// Traces pack to a tenth or a thirtieth; gzip can do a thousandth, of nothing but repetitions. Below the
// least nobody is hurt.
constexpr uint64_t kMostRatio = 200, kLeastBomb = 64 << 20;
constexpr int kGzipOnly = 16 + MAX_WBITS;
constexpr unsigned char kMagic[] = {0x1f, 0x8b};

bool has_magic(const char* bytes) { return std::memcmp(bytes, kMagic, sizeof kMagic) == 0; }

}  // namespace

InputStream::InputStream(std::string path)
    : path_(std::move(path)), packed_(std::make_unique_for_overwrite<char[]>(kBlock)) {
    file_ = open(path_.c_str(), O_RDONLY | O_CLOEXEC);
    if (file_ < 0) throw Failure(path_ + ": " + std::strerror(errno));
    struct stat status;  // of a pipe nobody knows how much will come
    if (fstat(file_, &status) == 0 && S_ISREG(status.st_mode)) Progress::expect(status.st_size);
    try {
        // A pipe may give its first two bytes one by one.
        while (end_ < sizeof kMagic && refill()) {
        }
        if (!trouble_.empty()) throw Failure(path_ + ": " + trouble_);
        if (end_ >= sizeof kMagic && has_magic(packed_.get())) start_unpacking();
    } catch (...) {
        close(file_);
        throw;
    }
}

InputStream::~InputStream() {
    if (unpacker_) inflateEnd(unpacker_.get());
    close(file_);
}

size_t InputStream::read(char* to, size_t room) {
    if (finished_ || room == 0) return 0;
    size_t got = 0;
    if (unpacker_) {
        got = unpack(to, std::min<size_t>(room, UINT_MAX));
    } else if (begin_ < end_) {
        got = std::min(room, end_ - begin_);
        std::memcpy(to, packed_.get() + begin_, got);
        begin_ += got;
    } else {
        got = read_file(to, room);
    }
    given_any_ = given_any_ || got > 0;
    if (got == 0) finished_ = true;
    return got;
}

size_t InputStream::read_file(char* to, size_t room) {
    ssize_t got = 0;
    do got = ::read(file_, to, room);
    while (got < 0 && errno == EINTR);
    if (got < 0) {
        stop(std::strerror(errno));
        return 0;
    }
    file_bytes_ += static_cast<size_t>(got);
    Progress::done(got);
    return static_cast<size_t>(got);
}

// Adds a block behind what is left of the last one.
bool InputStream::refill() {
    if (begin_ > 0) {
        std::memmove(packed_.get(), packed_.get() + begin_, end_ - begin_);
        end_ -= begin_;
        begin_ = 0;
    }
    const size_t got = read_file(packed_.get() + end_, kBlock - end_);
    end_ += got;
    return got > 0;
}

void InputStream::start_unpacking() {
    unpacker_ = std::make_unique<z_stream>();
    if (inflateInit2(unpacker_.get(), kGzipOnly) == Z_OK) return;
    unpacker_.reset();
    throw Failure(path_ + ": no memory to unpack it");
}

size_t InputStream::unpack(char* to, size_t room) {
    z_stream& z = *unpacker_;
    z.next_out = reinterpret_cast<Bytef*>(to);
    z.avail_out = static_cast<uInt>(room);
    if (is_bomb()) {
        stop("gzip unpacks to more than " + std::to_string(kMostRatio) + " times its size, and is not read");
        return 0;
    }
    while (z.avail_out == room) {
        if (begin_ == end_ && !refill()) {
            if (trouble_.empty()) stop("gzip breaks off");
            break;
        }
        z.next_in = reinterpret_cast<Bytef*>(packed_.get() + begin_);
        z.avail_in = static_cast<uInt>(end_ - begin_);
        const int result = inflate(&z, Z_NO_FLUSH);
        begin_ = end_ - z.avail_in;
        if (result == Z_STREAM_END && another_member()) continue;
        if (result == Z_STREAM_END) {
            finished_ = true;
            break;
        }
        if (result != Z_OK) {
            finished_ = true;
            stop(std::string("gzip is damaged (") + (z.msg != nullptr ? z.msg : "no more is known") + ")");
            break;
        }
    }
    unpacked_bytes_ += room - z.avail_out;
    return room - z.avail_out;
}

bool InputStream::is_bomb() const {
    return unpacked_bytes_ > kLeastBomb && unpacked_bytes_ / kMostRatio > file_bytes_;
}

// Files of several gzip members are as good as one: `cat a.gz b.gz`, and what some parallel packers write.
bool InputStream::another_member() {
    while (end_ - begin_ < sizeof kMagic && refill()) {
    }
    return end_ - begin_ >= sizeof kMagic && has_magic(packed_.get() + begin_) &&
           inflateReset(unpacker_.get()) == Z_OK;
}

void InputStream::stop(const std::string& why) {
    trouble_ = why + " after " + std::to_string(file_bytes_ - (end_ - begin_)) + " bytes of the file";
}

}  // namespace gpushim::analysis
