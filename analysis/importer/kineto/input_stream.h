// A file as a stream of bytes, unpacked if it is gzip, whatever its name says; a pipe will do, too. Memory
// does not depend on the file's size, nor on how far gzip unpacks; what unpacks to hundreds of times its size
// is not read to the end. Throws Failure where nothing can be read;
// once something was, a file that breaks off or is damaged ends there, and `trouble` says how. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "inflater.h"

struct z_stream_s;

namespace gpushim::analysis {

class InputStream {
  public:
    explicit InputStream(std::string path);
    ~InputStream();
    InputStream(const InputStream&) = delete;
    InputStream& operator=(const InputStream&) = delete;

    size_t read(char* to, size_t room);  // 0: the end
    bool is_gzip() const { return unpacker_ != nullptr; }
    uint64_t file_bytes() const { return file_bytes_; }  // read of the file itself, packed or not
    const std::string& trouble() const { return trouble_; }

  private:
    size_t read_file(char* to, size_t room);
    bool refill();
    size_t unpack(char* to, size_t room);
    enum class Part : uint8_t { going_on, hungry, ended, damaged };  // hungry: for more than there is
    Part unpack_by_zlib(std::span<uint8_t>& to);
    Part unpack_body(std::span<uint8_t>& to);
    Part damaged(const char* why);
    bool has_tail();
    void start_unpacking();
    void start_member();
    bool another_member();
    bool has_right_sum();
    bool is_bomb() const;
    void stop(const std::string& why);

    std::string path_;
    int file_ = -1;
    std::unique_ptr<char[]> packed_;  // also what was read to see whether it is gzip
    size_t begin_ = 0, end_ = 0;
    std::unique_ptr<z_stream_s> unpacker_;
    uint64_t file_bytes_ = 0, unpacked_bytes_ = 0;
    std::unique_ptr<Inflater> inflater_;
    // A member of gzip: behind its head it does what zlib would do, but takes long for.
    bool sums_itself_ = false, is_in_head_ = false;
    uint32_t sum_ = 0, summed_bytes_ = 0;
    bool given_any_ = false, finished_ = false;
    std::string trouble_;
};

}  // namespace gpushim::analysis
