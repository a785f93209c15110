// A file of protobuf messages too large for memory: any part of it on demand, and the fields of a message
// whose length may be more than the file has. gzip is unpacked into a file without a name. Memory is that of
// the largest part asked for, at most 4 MB. Throws Failure where the file cannot be opened or unpacked. One
// thread.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#define PROTOZERO_USE_VIEW std::string_view
#include <protozero/pbf_reader.hpp>

namespace gpushim::analysis {

class MessageFile {
  public:
    static constexpr size_t kMost = 4 << 20;  // of a part

    // `folder`: where gzip, or a pipe, is unpacked.
    MessageFile(const std::string& path, const std::filesystem::path& folder);
    ~MessageFile();
    MessageFile(const MessageFile&) = delete;
    MessageFile& operator=(const MessageFile&) = delete;

    uint64_t size() const { return size_; }
    // Shorter where the file ends. Valid until the next call.
    std::string_view part(uint64_t from, uint64_t length);
    const std::string& trouble() const { return trouble_; }  // why it ends where it does; empty: none

  private:
    void unpack(class InputStream& input, const std::filesystem::path& folder);
    void fill(uint64_t from, size_t length);

    std::string path_, trouble_;
    int file_ = -1;
    uint64_t size_ = 0, at_ = 0, seen_ = 0;
    std::vector<char> block_;
    size_t held_ = 0;  // of the block, which begins at at_
};

struct MessageField {
    uint32_t number;
    protozero::pbf_wire_type wire;
    uint64_t value;     // of a number
    uint64_t from, to;  // of what has a length: where it is
    bool is_cut;        // its message, or the file, ends first
};

class MessageFields {
  public:
    static constexpr uint64_t kLongestHead = 20;  // a field's number, and its length or value

    MessageFields(MessageFile& file, uint64_t from, uint64_t to) : file_(file), at_(from), to_(to) {}

    bool next(MessageField& field);  // false: the end, or what is no field
    bool is_damaged() const { return is_damaged_; }
    uint64_t position() const { return at_; }

  private:
    bool read(std::string_view head, MessageField& field);

    MessageFile& file_;
    uint64_t at_, to_;
    bool is_damaged_ = false;
};

}  // namespace gpushim::analysis
