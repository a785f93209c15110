// Rows of `window`: how many operations each device was given in a window that is over, and of how many the
// times are known. A window waits until all that will ever be known of it is. The writer's thread only.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <vector>

#include "../schema/rows.h"
#include "windows.h"

namespace gpushim::shim {

class WindowRows {
  public:
    // From now on windows have a row for it: one in which it is given nothing counts as well.
    void device(int64_t device);
    // An operation that the device was given at that time; its times are known.
    void given(int64_t device, int64_t enter_ns);
    void timed(int64_t device, int64_t enter_ns);

    void add(const Window& window);
    // Operations from `unknown_ns` on may still get times, those from `unstored_ns` on may still come. Past
    // ten seconds, or at the end, a window waits no longer.
    void finish(int64_t now_ns, int64_t unknown_ns, int64_t unstored_ns, bool ending);
    bool has_open() const { return !closed_.empty(); }
    // Nothing from before that is of interest any more.
    void forget_before(int64_t ns);

    RowsOf<row::window> rows;

  private:
    // Moments, bounded in number: of many, neighbours among the older ones are kept together.
    class Moments {
      public:
        void add(int64_t ns);
        int64_t count_in(const Window& window) const;
        void forget_before(int64_t ns);

      private:
        struct Some {
            int64_t first_ns;
            int64_t last_ns;
            int64_t count;
        };
        std::vector<Some> all_;
    };
    struct Operations {
        Moments given;
        Moments timed;
    };
    void write(const Window& window);

    std::map<int64_t, Operations> devices_;
    std::deque<Window> closed_;
};

}  // namespace gpushim::shim
