// Kineto traces written by hand into a folder of their own, and what the reader makes of them.
#pragma once

#include <zlib.h>

#include <fstream>
#include <string>
#include <vector>

#include "analysis/importer/kineto/kineto_reader.h"
#include "analysis/process/temporary.h"

namespace made {

using namespace gpushim::analysis;

// An event whose views are kept; those of `event` itself are not to be looked at.
struct Kept {
    explicit Kept(const KinetoEvent& given)
        : event(given),
          name(given.name),
          collective(given.collective),
          dtype(given.dtype),
          group(given.group),
          group_description(given.group_description),
          group_ranks(given.group_ranks),
          label(given.label) {}
    KinetoEvent event;
    std::string name, collective, dtype, group, group_description, group_ranks, label;
};

struct Read {
    KinetoSummary summary;
    std::vector<Kept> events;
};

class KinetoFile {
  public:
    explicit KinetoFile(const std::string& content, const std::string& name = "trace.json")
        : path_(folder_.path() / name) {
        std::ofstream(path_, std::ios::binary) << content;
    }
    std::string path() const { return path_.string(); }

    Read read(const KinetoOptions& options = {}) const {
        Read read;
        read.summary =
            read_kineto(path(), options, [&](const KinetoEvent& event) { read.events.emplace_back(event); });
        return read;
    }

  private:
    TemporaryFolder folder_;
    std::filesystem::path path_;
};

inline Read read(const std::string& content) { return KinetoFile(content).read(); }

// A trace with these elements and nothing else.
inline std::string with_events(const std::string& elements) {
    return "{\"traceEvents\": [" + elements + "]}";
}

// A good kernel of a microsecond, to be put around what is not good.
inline std::string kernel(const std::string& name) {
    return R"({"ph": "X", "cat": "kernel", "name": ")" + name +
           R"(", "pid": 0, "tid": 7, "ts": 5, "dur": 1})";
}

inline std::vector<std::string> names(const Read& read) {
    std::vector<std::string> names;
    for (const Kept& kept : read.events) names.push_back(kept.name);
    return names;
}

// open, fill as often as told, close: without ever holding that text.
inline std::string gzip(const std::string& open, const std::string& fill, size_t times,
                        const std::string& close) {
    z_stream z{};
    deflateInit2(&z, 1, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY);
    std::string packed;
    const auto add = [&](const std::string& text, int flush) {
        char block[4096];
        z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
        z.avail_in = static_cast<uInt>(text.size());
        do {
            z.next_out = reinterpret_cast<Bytef*>(block);
            z.avail_out = sizeof block;
            deflate(&z, flush);
            packed.append(block, sizeof block - z.avail_out);
        } while (z.avail_out == 0);
    };
    add(open, Z_NO_FLUSH);
    for (size_t i = 0; i < times; ++i) add(fill, Z_NO_FLUSH);
    add(close, Z_FINISH);
    deflateEnd(&z);
    return packed;
}

inline std::string gzip(const std::string& text) { return gzip(text, "", 0, ""); }

}  // namespace made
