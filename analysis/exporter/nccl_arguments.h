// What NCCL was asked for, as arguments of the kernels that did it, in the words that PyTorch's profiler
// uses. Collectives of one group, stream and communicator that are done by one kernel are told as one, if
// they are alike. Remembers a bounded number of groups whose kernels may still come. One thread.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <tuple>

#include "export_row.h"

namespace gpushim::analysis {

class EventText;

class NcclArguments {
  public:
    explicit NcclArguments(std::optional<int64_t> world_size) : world_size_(world_size) {}

    void asked(const ExportRow& collective);
    // Of a kernel that is part of a group: those of what it does that were not told yet.
    void tell(const ExportRow& kernel, EventText& event);

  private:
    struct Asked {
        std::string api, communicator;
        int64_t bytes, count, type, peer, number, ranks, rank;
        int64_t calls = 1;
    };
    using Key = std::tuple<int64_t, int64_t, int64_t>;  // group, device, stream
    static void add(Asked& all, const Asked& one);

    std::optional<int64_t> world_size_;
    std::map<Key, Asked> asked_;
    std::deque<Key> oldest_;
};

}  // namespace gpushim::analysis
