// What a person has chosen of `gpushim top`, and what keys do to it. Plain values; one thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gpushim::analysis {

enum class TopView : uint8_t { parts, idle, device, grid, count };
enum class TopOrder : uint8_t { rank, step, compute, waiting, idle, own, memory, power, news, count };

const char* name_of(TopView view);
const char* name_of(TopOrder order);
std::optional<TopView> view_named(std::string_view name);
std::optional<TopOrder> order_named(std::string_view name);
std::vector<std::string> order_names();

struct TopState {
    std::optional<TopView> view;  // none: parts, or the grid where the ranks have no room
    TopOrder order = TopOrder::rank;
    bool is_reversed = false, is_paused = false, shows_help = false, has_ended = false;
    bool is_typing = false;  // the filter
    std::string filter;
    size_t first = 0;  // row of the table that is shown first

    // Bytes as a terminal sends them: keys, and sequences of arrow and page keys. `page`: rows that are seen.
    void press(std::string_view bytes, size_t page);

  private:
    void press_key(char key, size_t page);
    void type(char key);
    void scroll(int64_t rows);
};

}  // namespace gpushim::analysis
