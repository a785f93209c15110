// What many rows share and the trace has once: texts, rows of the hook tables, looks of launches. Their
// number is bounded, and so is our memory of them. The writer's thread only.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "../sqlite/database.h"
#include "tables.h"

namespace gpushim::shim {

// Beyond so many texts, or bytes of them, all are "(other)". What the program says of itself (ranges, marks)
// has half of that: "step 4711" is then said as "step …", so that functions still get their names.
class Names {
  public:
    struct Most {
        size_t texts = 65536, bytes = 8 << 20;
    };
    explicit Names(Tables& tables, Most most = {65536, 8 << 20}) : tables_(tables), most_(most) {}
    void load(Database& base);
    int64_t id(std::string_view text);
    int64_t id_of_said(std::string_view text);
    int64_t other();
    uint64_t left_out() const { return left_out_; }  // how often a text had no place
    // Whether it is the name of a kernel of NCCL's, which NCCL's own threads may launch.
    bool is_of_nccl(int64_t id) const { return of_nccl_.contains(id); }

  private:
    bool has_place(size_t share) const;
    int64_t add(std::string_view text);
    int64_t family(std::string_view text);
    void note(std::string_view text);

    struct Hash : std::hash<std::string_view> {
        using is_transparent = void;
    };
    Tables& tables_;
    const Most most_;
    size_t bytes_ = 0;
    uint64_t left_out_ = 0;
    std::unordered_set<int64_t> of_nccl_;
    std::unordered_map<std::string, int64_t, Hash, std::equal_to<>> ids_;
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

// Beyond so many, launches of a function are all alike: their geometry is not recorded. Beyond half as many
// more their function is not either (the totals have it): programs that load code again and again have no end
// of functions.
class Shapes {
  public:
    explicit Shapes(Tables& tables, size_t most = 65536) : tables_(tables), most_(most) {}
    void load(Database& base);
    uint64_t left_out() const { return left_out_; }  // how often a geometry was not
    int64_t id(const Shape& shape);
    void forget(int64_t id);  // its row is gone

  private:
    struct Hash {
        size_t operator()(const Shape& shape) const;
    };
    int64_t add(const Shape& shape);
    void remember(const Shape& shape, int64_t id);

    Tables& tables_;
    const size_t most_;
    uint64_t left_out_ = 0;
    std::unordered_map<Shape, int64_t, Hash> ids_;
    std::unordered_map<int64_t, const Shape*> shapes_;  // by id
    int64_t last_id_ = 0;
};

}  // namespace gpushim::shim
