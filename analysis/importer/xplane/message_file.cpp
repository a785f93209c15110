#include "message_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "../../failure.h"
#include "../../process/unfinished.h"
#include "../../terminal/progress.h"
#include "../kineto/input_stream.h"

namespace gpushim::analysis {

namespace {

constexpr size_t kPart = 256 << 10;
constexpr uint64_t kNumberBits = 3;

bool is_plain_file(int file) {
    struct stat status;
    return fstat(file, &status) == 0 && S_ISREG(status.st_mode);
}

int file_without_name(const std::filesystem::path& folder) {
    int file = -1;
    const Unfinished has_a_name_until_here([&] {
        std::string name = (folder / "gpushim-unpacked-XXXXXX").string();
        file = mkostemp(name.data(), O_CLOEXEC);
        return file < 0 ? std::string() : name;
    });
    return file;
}

bool write_all(int file, const char* from, size_t length) {
    while (length > 0) {
        const ssize_t written = write(file, from, length);
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) return false;
        from += written;
        length -= static_cast<size_t>(written);
    }
    return true;
}

}  // namespace

MessageFile::MessageFile(const std::string& path, const std::filesystem::path& folder)
    : path_(path), block_(kPart) {
    InputStream input(path);
    if (!input.is_gzip()) file_ = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file_ >= 0 && !is_plain_file(file_)) {
        close(file_);
        file_ = -1;
    }
    if (file_ < 0) unpack(input, folder);
    struct stat status;
    if (fstat(file_, &status) == 0) size_ = static_cast<uint64_t>(status.st_size);
}

MessageFile::~MessageFile() {
    if (file_ >= 0) close(file_);
}

void MessageFile::unpack(InputStream& input, const std::filesystem::path& folder) {
    file_ = file_without_name(folder);
    if (file_ < 0) throw Failure(folder.string() + ": no file to unpack into can be made", kIncomplete);
    while (const size_t got = input.read(block_.data(), block_.size())) {
        if (write_all(file_, block_.data(), got)) continue;
        close(file_);
        throw Failure(folder.string() + ": no space to unpack " + path_, kIncomplete);
    }
    trouble_ = input.trouble();
}

std::string_view MessageFile::part(uint64_t from, uint64_t length) {
    if (from >= size_) return {};
    const auto wanted = static_cast<size_t>(std::min<uint64_t>({length, size_ - from, kMost}));
    if (from < at_ || from + wanted > at_ + held_) fill(from, wanted);
    const size_t skipped = static_cast<size_t>(from - at_);
    return std::string_view(block_.data(), held_).substr(skipped, wanted);
}

// From there on a whole block, because what follows is asked for next.
void MessageFile::fill(uint64_t from, size_t length) {
    if (block_.size() < length) block_.resize(length);
    at_ = from;
    held_ = 0;
    while (held_ < block_.size()) {
        const ssize_t got =
            pread(file_, block_.data() + held_, block_.size() - held_, static_cast<off_t>(at_ + held_));
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) trouble_ = std::strerror(errno);
        if (got <= 0) break;
        held_ += static_cast<size_t>(got);
    }
    if (at_ + held_ <= seen_) return;
    Progress::done(static_cast<int64_t>(at_ + held_ - seen_));
    seen_ = at_ + held_;
}

bool MessageFields::next(MessageField& field) {
    if (at_ >= to_ || is_damaged_) return false;
    if (read(file_.part(at_, std::min<uint64_t>(kLongestHead, to_ - at_)), field)) return true;
    is_damaged_ = true;
    return false;
}

bool MessageFields::read(std::string_view head, MessageField& field) {
    using protozero::pbf_wire_type;
    const char *here = head.data(), *const end = here + head.size();
    try {
        const uint64_t key = protozero::decode_varint(&here, end);
        field = {
            static_cast<uint32_t>(key >> kNumberBits), static_cast<pbf_wire_type>(key & 7), 0, 0, 0, false};
        if (field.number == 0 || key > UINT32_MAX) return false;
        uint64_t length = 0;
        switch (field.wire) {
            case pbf_wire_type::varint:
                field.value = protozero::decode_varint(&here, end);
                break;
            case pbf_wire_type::length_delimited:
                length = protozero::decode_varint(&here, end);
                break;
            case pbf_wire_type::fixed64:
                length = sizeof(uint64_t);
                break;
            case pbf_wire_type::fixed32:
                length = sizeof(uint32_t);
                break;
            default:
                return false;
        }
        field.from = at_ + static_cast<uint64_t>(here - head.data());
        field.is_cut = length > to_ - field.from;
        field.to = field.is_cut ? to_ : field.from + length;
    } catch (const protozero::exception&) {
        return false;
    }
    at_ = field.to;
    return true;
}

}  // namespace gpushim::analysis
