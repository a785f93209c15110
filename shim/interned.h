// What many rows share and the trace has once: texts, rows of the hook tables, looks of launches. The
// writer's thread only.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "database.h"
#include "tables.h"

namespace gpushim::shim {

class Names {
  public:
    explicit Names(Tables& tables) : tables_(tables) {}
    void load(Database& base);
    int64_t id(std::string_view text);
    // Whether it is the name of a kernel of NCCL's, which NCCL's own threads may launch.
    bool is_of_nccl(int64_t id) const { return of_nccl_.contains(id); }

  private:
    void note(std::string_view text);

    Tables& tables_;
    std::unordered_set<int64_t> of_nccl_;
    std::unordered_map<std::string, int64_t> ids_;
    int64_t last_id_ = 0;
};

class Apis {
  public:
    explicit Apis(Tables& tables) : tables_(tables) {}
    void load(Database& base);
    int64_t id(uint16_t api);  // kNull: no row of the hook tables

  private:
    Tables& tables_;
    std::array<bool, 2048> there_ = {};
};

struct Shape {
    int64_t handle_id;
    int64_t api;
    uint64_t grid, block;          // as packed in a slot; 0: not recorded
    uint64_t cluster, attributes;  // 0: none
    bool operator==(const Shape&) const = default;
};

class Shapes {
  public:
    explicit Shapes(Tables& tables) : tables_(tables) {}
    void load(Database& base);
    int64_t id(const Shape& shape);

  private:
    struct Hash {
        size_t operator()(const Shape& shape) const;
    };
    Tables& tables_;
    std::unordered_map<Shape, int64_t, Hash> ids_;
    int64_t last_id_ = 0;
};

}  // namespace gpushim::shim
