// Threads, and what they did between their calls. The writer's thread only.
#pragma once

#include <unordered_map>

#include "row_maker.h"

namespace gpushim::shim {

class ThreadRows : RowMaker {
  public:
    explicit ThreadRows(Known& known) : RowMaker(known) {}
    void load(Database& base);
    void thread(const Call& call);
    void gap(const Call& call);

    void see(int64_t number, int64_t enter_ns);
    void is_gone(int64_t number);
    // When it was last seen; kNull: it still is, or nobody knows.
    int64_t end_of(int64_t number, int64_t tid) const;

  private:
    std::unordered_map<int64_t, int64_t> threads_;  // when their newest event began
    int64_t last_number_ = 0;
    int64_t* last_thread_ = nullptr;  // of that number
};

}  // namespace gpushim::shim
