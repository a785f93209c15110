// Puts records in order that do not fit into memory: sorted chunks in a file without a name, merged when they
// are asked for. Those that are alike stay as they came: of two operators that began and ended in the same
// microsecond the outer one is first in the file. Memory: `chunk_bytes` while adding, 128 KiB for each chunk
// while merging. add() any number of times, then each(), once or again. One thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <numeric>
#include <queue>
#include <string>
#include <type_traits>
#include <vector>

#include "../failure.h"
#include "../process/nameless_file.h"

namespace gpushim::analysis {

template <class Record, class Less>
class ExternalSort {
    static_assert(std::is_trivially_copyable_v<Record>);

  public:
    explicit ExternalSort(std::filesystem::path folder, size_t chunk_bytes = 32 << 20)
        : folder_(std::move(folder)),
          most_(std::clamp<size_t>(chunk_bytes / sizeof(Record), 1, UINT32_MAX)) {}

    void add(const Record& record) {
        order_.clear();
        if (chunk_.empty()) chunk_.reserve(most_);  // memory that is not touched costs nothing, copies do
        chunk_.push_back(record);
        if (chunk_.size() == most_) spill();
    }

    size_t size() const { return std::accumulate(sizes_.begin(), sizes_.end(), chunk_.size()); }

    template <class Take>
    void each(const Take& take) {
        if (sizes_.empty()) {
            sort();
            for (const uint32_t place : order_) take(chunk_[place]);
            return;
        }
        if (!chunk_.empty()) spill();
        std::vector<Record>().swap(chunk_);
        std::vector<uint32_t>().swap(order_);
        merge(take);
    }

  private:
    static constexpr size_t kBlockRecords = std::max<size_t>((128 << 10) / sizeof(Record), 1);

    struct Run {  // one chunk, read block by block
        size_t at, left;
        std::vector<Record> block = {};
        size_t next = 0;
    };

    void spill() {
        if (!file_) open();
        sort();
        std::vector<Record> block;
        block.reserve(kBlockRecords);
        for (const uint32_t place : order_) {
            block.push_back(chunk_[place]);
            if (block.size() == kBlockRecords) write(block);
        }
        write(block);
        sizes_.push_back(chunk_.size());
        chunk_.clear();
    }

    // Where the first stands, the second, …: to put the records themselves in order would move each of them
    // a dozen times.
    void sort() {
        if (order_.size() == chunk_.size()) return;  // as it is from the last time
        order_.resize(chunk_.size());
        std::iota(order_.begin(), order_.end(), 0);
        std::stable_sort(order_.begin(), order_.end(),
                         [this](uint32_t a, uint32_t b) { return Less()(chunk_[a], chunk_[b]); });
    }

    void write(std::vector<Record>& block) {
        if (std::fwrite(block.data(), sizeof(Record), block.size(), file_.get()) != block.size())
            throw Failure(folder_.string() + ": no space to sort in", kIncomplete);
        block.clear();
    }

    void open() {
        const int file = nameless_file(folder_);
        file_.reset(file < 0 ? nullptr : fdopen(file, "w+b"));
        if (!file_) throw Failure(folder_.string() + ": no file to sort in can be made", kIncomplete);
    }

    bool fill(Run& run) {
        run.next = 0;
        run.block.resize(std::min(run.left, kBlockRecords));
        if (run.block.empty()) return false;
        std::fseek(file_.get(), static_cast<long>(run.at * sizeof(Record)), SEEK_SET);
        if (std::fread(run.block.data(), sizeof(Record), run.block.size(), file_.get()) != run.block.size())
            throw Failure(folder_.string() + ": what was sorted cannot be read back", kIncomplete);
        run.at += run.block.size();
        run.left -= run.block.size();
        return true;
    }

    template <class Take>
    void merge(const Take& take) {
        std::vector<Run> runs;
        for (size_t at = 0; const size_t size : sizes_) {
            runs.push_back({at, size});
            at += size;
        }
        const auto later = [&](size_t a, size_t b) {
            const Record &one = runs[a].block[runs[a].next], &other = runs[b].block[runs[b].next];
            return Less()(other, one) || (!Less()(one, other) && a > b);
        };
        std::priority_queue<size_t, std::vector<size_t>, decltype(later)> first(later);
        for (size_t i = 0; i < runs.size(); ++i)
            if (fill(runs[i])) first.push(i);
        while (!first.empty()) {
            const size_t i = first.top();
            first.pop();
            Run& run = runs[i];
            take(run.block[run.next]);
            if (++run.next < run.block.size() || fill(run)) first.push(i);
        }
    }

    struct Close {
        void operator()(std::FILE* file) const { std::fclose(file); }
    };
    std::filesystem::path folder_;
    size_t most_;
    std::vector<Record> chunk_;
    std::vector<uint32_t> order_;  // of the chunk
    std::vector<size_t> sizes_;
    std::unique_ptr<std::FILE, Close> file_;
};

}  // namespace gpushim::analysis
