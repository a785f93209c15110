#include "input_stream.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <climits>
#include <cstring>

#include "../../failure.h"
#include "../../terminal/progress.h"
#include "gzip_sum.h"

namespace gpushim::analysis {

namespace {

constexpr size_t kBlock = 256 << 10;
// Traces pack to a tenth or a thirtieth; gzip can do a thousandth, of nothing but repetitions. Below the
// least nobody is hurt.
constexpr uint64_t kMostRatio = 200, kLeastBomb = 64 << 20;
constexpr int kGzipOnly = 16 + MAX_WBITS;
constexpr unsigned char kMagic[] = {0x1f, 0x8b};
constexpr size_t kFlagsAt = 3;                   // in the head of a member
constexpr char kHeadHasSum = 0x02;               // of these
constexpr size_t kSumBytes = 4, kTailBytes = 8;  // the sum, and the number of bytes

bool has_magic(const char* bytes) { return std::memcmp(bytes, kMagic, sizeof kMagic) == 0; }

uint32_t four_bytes(const char* at) {
    uint32_t value = 0;
    static_assert(std::endian::native == std::endian::little);
    std::memcpy(&value, at, sizeof value);
    return value;
}

}  // namespace

InputStream::InputStream(std::string path)
    : path_(std::move(path)), packed_(std::make_unique_for_overwrite<char[]>(kBlock)) {
    file_ = open(path_.c_str(), O_RDONLY | O_CLOEXEC);
    if (file_ < 0) throw Failure(path_ + ": " + std::strerror(errno));
    struct stat status;  // of a pipe nobody knows how much will come
    if (fstat(file_, &status) == 0 && S_ISREG(status.st_mode)) Progress::expect(status.st_size);
    try {
        // A pipe may give its first bytes one by one.
        while (end_ <= kFlagsAt && refill()) {
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

// Adds a block behind what is left of the last one, and behind what may be the tail of a member.
bool InputStream::refill() {
    if (begin_ > kTailBytes) {
        const size_t gone = begin_ - kTailBytes;
        std::memmove(packed_.get(), packed_.get() + gone, end_ - gone);
        end_ -= gone;
        begin_ -= gone;
    }
    const size_t got = read_file(packed_.get() + end_, kBlock - end_);
    end_ += got;
    return got > 0;
}

void InputStream::start_unpacking() {
    unpacker_ = std::make_unique<z_stream>();
    inflater_ = std::make_unique<Inflater>();
    if (inflateInit2(unpacker_.get(), kGzipOnly) != Z_OK) {
        unpacker_.reset();
        throw Failure(path_ + ": no memory to unpack it");
    }
    start_member();
}

// A sum of the head itself is zlib's to check, and then the other one is, too.
void InputStream::start_member() {
    const bool has_head = end_ - begin_ > kFlagsAt;
    sums_itself_ = has_head && (packed_[begin_ + kFlagsAt] & kHeadHasSum) == 0;
    is_in_head_ = true;
    inflater_->begin();
    sum_ = summed_bytes_ = 0;
}

// Its tail is what was read last. Else what is wrong stands where zlib leaves it, and in its words.
bool InputStream::has_right_sum() {
    if (!sums_itself_) return true;
    const char* const tail = packed_.get() + begin_ - kTailBytes;
    const bool is_sum_right = four_bytes(tail) == sum_;
    if (is_sum_right && four_bytes(tail + kSumBytes) == summed_bytes_) return true;
    if (!is_sum_right) begin_ -= kTailBytes - kSumBytes;
    stop(std::string("gzip is damaged (incorrect ") + (is_sum_right ? "length" : "data") + " check)");
    return false;
}

size_t InputStream::unpack(char* to, size_t room) {
    std::span<uint8_t> left(reinterpret_cast<uint8_t*>(to), room);
    if (is_bomb()) {
        stop("gzip unpacks to more than " + std::to_string(kMostRatio) + " times its size, and is not read");
        return 0;
    }
    bool is_hungry = false;
    while (left.size() == room && !finished_) {
        if ((begin_ == end_ || is_hungry) && !refill()) {
            begin_ = end_;
            if (trouble_.empty()) stop("gzip breaks off");
            break;
        }
        is_hungry = false;
        const uint8_t* const unpacked = left.data();
        const Part part = sums_itself_ && !is_in_head_ ? unpack_body(left) : unpack_by_zlib(left);
        const auto count = static_cast<size_t>(left.data() - unpacked);
        if (sums_itself_) sum_ = gzip_sum(sum_, unpacked, count);
        summed_bytes_ += static_cast<uint32_t>(count);
        is_hungry = part == Part::hungry;
        finished_ = part == Part::damaged ||
                    (part == Part::ended && !(has_tail() && has_right_sum() && another_member()));
    }
    const size_t got = room - left.size();
    unpacked_bytes_ += got;
    return got;
}

// The head of each member, and all of one that has a sum of its head.
InputStream::Part InputStream::unpack_by_zlib(std::span<uint8_t>& to) {
    z_stream& z = *unpacker_;
    z.next_in = reinterpret_cast<Bytef*>(packed_.get() + begin_);
    z.avail_in = static_cast<uInt>(end_ - begin_);
    z.next_out = to.data();
    z.avail_out = static_cast<uInt>(to.size());
    const int result = inflate(&z, sums_itself_ ? Z_BLOCK : Z_NO_FLUSH);
    begin_ = end_ - z.avail_in;
    to = to.last(z.avail_out);
    constexpr int kIsBehindHead = 128;
    is_in_head_ = (z.data_type & kIsBehindHead) == 0;
    if (result == Z_STREAM_END) return Part::ended;
    if (result == Z_OK) return Part::going_on;
    return damaged(z.msg);
}

InputStream::Part InputStream::unpack_body(std::span<uint8_t>& to) {
    std::span<const uint8_t> in(reinterpret_cast<const uint8_t*>(packed_.get()) + begin_, end_ - begin_);
    const Inflater::Result result = inflater_->run(in, to);
    begin_ = end_ - in.size();
    if (result == Inflater::Result::ended) return Part::ended;
    if (result == Inflater::Result::hungry) return Part::hungry;
    return result == Inflater::Result::damaged ? damaged(inflater_->why()) : Part::going_on;
}

InputStream::Part InputStream::damaged(const char* why) {
    stop(std::string("gzip is damaged (") + (why != nullptr ? why : "no more is known") + ")");
    return Part::damaged;
}

// Behind a body that zlib has not unpacked.
bool InputStream::has_tail() {
    if (!sums_itself_) return true;
    while (end_ - begin_ < kTailBytes && refill()) {
    }
    const bool has = end_ - begin_ >= kTailBytes;
    begin_ = has ? begin_ + kTailBytes : end_;
    if (!has && trouble_.empty()) stop("gzip breaks off");
    return has;
}

bool InputStream::is_bomb() const {
    return unpacked_bytes_ > kLeastBomb && unpacked_bytes_ / kMostRatio > file_bytes_;
}

// Files of several gzip members are as good as one: `cat a.gz b.gz`, and what some parallel packers write.
bool InputStream::another_member() {
    while (end_ - begin_ <= kFlagsAt && refill()) {
    }
    if (end_ - begin_ < sizeof kMagic || !has_magic(packed_.get() + begin_)) return false;
    if (inflateReset(unpacker_.get()) != Z_OK) return false;
    start_member();
    return true;
}

void InputStream::stop(const std::string& why) {
    trouble_ = why + " after " + std::to_string(file_bytes_ - (end_ - begin_)) + " bytes of the file";
}

}  // namespace gpushim::analysis
