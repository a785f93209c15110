// What is told once in a trace that is being brought in, and by number from then on: texts, streams, kernels'
// looks, collectives' looks. Bounded: what has no place any more is "(other)", and counted. One thread.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <vector>

namespace gpushim::analysis {

class ImportedTexts {
  public:
    int32_t id(std::string_view text);
    const std::string& at(int32_t id) const { return *texts_[static_cast<size_t>(id)]; }
    int32_t count() const { return static_cast<int32_t>(texts_.size()); }
    int64_t left_out() const { return left_out_; }

  private:
    struct Hash {
        using is_transparent = void;
        size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
    };
    int32_t add(std::string_view text);
    std::unordered_map<std::string, int32_t, Hash, std::equal_to<>> ids_;
    std::vector<const std::string*> texts_;
    size_t bytes_ = 0;
    int64_t left_out_ = 0;
};

// Values by number, each once; kNobody where there is no room.
template <class Value, size_t kMost = 65536>
class ImportedSet {
  public:
    int32_t id(const Value& value) {
        if (last_ >= 0 && values_[static_cast<size_t>(last_)] == value) return last_;
        const auto found = ids_.find(value);
        if (found != ids_.end()) return last_ = found->second;
        if (values_.size() == kMost) return ++left_out_, -1;
        values_.push_back(value);
        ids_.emplace(value, count() - 1);
        return last_ = count() - 1;
    }
    const Value& at(int32_t id) const { return values_[static_cast<size_t>(id)]; }
    int32_t count() const { return static_cast<int32_t>(values_.size()); }
    int64_t left_out() const { return left_out_; }

  private:
    std::map<Value, int32_t> ids_;
    std::vector<Value> values_;
    int32_t last_ = -1;
    int64_t left_out_ = 0;
};

struct ImportedStream {
    std::optional<int64_t> device, context, stream;
    auto operator<=>(const ImportedStream&) const = default;
};

struct ImportedShape {
    int32_t name;
    std::array<int64_t, 3> grid, block;  // -1: not recorded
    int64_t shared_bytes;
    auto operator<=>(const ImportedShape&) const = default;
};

struct ImportedCommunicator {
    std::string uid, members;  // "[0, 1]", as far as it is told
    int64_t ranks;             // -1: not recorded
    auto operator<=>(const ImportedCommunicator&) const = default;
};

struct ImportedCollective {
    int32_t api, communicator;                 // communicator -1: not recorded
    int64_t count, dtype, bytes, peer, sends;  // -1: not recorded, or none
    auto operator<=>(const ImportedCollective&) const = default;
};

struct ImportedNames {
    ImportedTexts apis, names;
    ImportedSet<ImportedStream> streams;
    ImportedSet<int64_t, 256> devices;  // no host has as many GPUs: others are numbers of something else
    ImportedSet<ImportedShape> shapes;
    ImportedSet<ImportedCommunicator> communicators;
    ImportedSet<ImportedCollective> collectives;
    ImportedSet<int64_t> threads;
    std::map<int64_t, std::string> thread_names;  // by what `threads` has
    std::vector<int64_t> thread_first_ns;         // by number of the thread
};

}  // namespace gpushim::analysis
