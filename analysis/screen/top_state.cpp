#include "top_state.h"

#include <algorithm>
#include <iterator>

namespace gpushim::analysis {

namespace {

constexpr const char* kViews[] = {"parts", "idle", "device", "grid"};
constexpr const char* kOrders[] = {"rank", "step",   "compute", "waiting", "idle",
                                   "own",  "memory", "power",   "news"};
static_assert(std::size(kViews) == static_cast<size_t>(TopView::count));
static_assert(std::size(kOrders) == static_cast<size_t>(TopOrder::count));

constexpr size_t kLongestFilter = 40;
constexpr char kEscape = '\033', kBackspace = '\b', kDelete = '\177', kInterrupt = '\003';

template <class Choice>
Choice next_of(Choice choice) {
    return static_cast<Choice>((static_cast<size_t>(choice) + 1) % static_cast<size_t>(Choice::count));
}

// What some keys send instead of a letter.
struct Sequence {
    std::string_view bytes;
    int rows;  // that it scrolls
    bool is_page;
};
constexpr Sequence kSequences[] = {
    {"\033[A", -1, false}, {"\033[B", 1, false},  {"\033OA", -1, false},
    {"\033OB", 1, false},  {"\033[5~", -1, true}, {"\033[6~", 1, true},
};

}  // namespace

const char* name_of(TopView view) { return kViews[static_cast<size_t>(view)]; }
const char* name_of(TopOrder order) { return kOrders[static_cast<size_t>(order)]; }

std::optional<TopView> view_named(std::string_view name) {
    for (size_t i = 0; i < std::size(kViews); ++i)
        if (name == kViews[i]) return static_cast<TopView>(i);
    return {};
}

std::optional<TopOrder> order_named(std::string_view name) {
    for (size_t i = 0; i < std::size(kOrders); ++i)
        if (name == kOrders[i]) return static_cast<TopOrder>(i);
    return {};
}

std::vector<std::string> order_names() { return {std::begin(kOrders), std::end(kOrders)}; }

void TopState::press(std::string_view bytes, size_t page) {
    while (!bytes.empty()) {
        size_t used = 1;
        const auto sequence = std::find_if(std::begin(kSequences), std::end(kSequences),
                                           [&](const Sequence& one) { return bytes.starts_with(one.bytes); });
        if (sequence != std::end(kSequences)) {
            scroll(sequence->rows * static_cast<int64_t>(sequence->is_page ? page : 1));
            used = sequence->bytes.size();
        } else if (bytes.starts_with("\033[")) {  // a key that says nothing here
            const size_t end = bytes.find_first_not_of("0123456789;?", 2);
            used = end == std::string_view::npos ? bytes.size() : end + 1;
        } else if (is_typing) {
            type(bytes[0]);
        } else {
            press_key(bytes[0], page);
        }
        bytes.remove_prefix(used);
    }
}

void TopState::type(char key) {
    if (key == '\r' || key == '\n') {
        is_typing = false;
    } else if (key == kEscape || key == kInterrupt) {
        is_typing = false;
        filter.clear();
    } else if (key == kBackspace || key == kDelete) {
        if (!filter.empty()) filter.pop_back();
    } else if (key >= ' ' && key < kDelete && filter.size() < kLongestFilter) {
        filter += key;
    }
    first = 0;
}

void TopState::press_key(char key, size_t page) {
    if (shows_help && key != 'q' && key != kInterrupt) {
        shows_help = false;
        return;
    }
    if (key >= '1' && key <= '4') view = static_cast<TopView>(key - '1');
    switch (key) {
        case 'q':
        case kInterrupt:
            has_ended = true;
            break;
        case 'v':
        case '\t':
            view = next_of(view.value_or(TopView::parts));
            break;
        case 's':
            order = next_of(order);
            break;
        case 'r':
            is_reversed = !is_reversed;
            break;
        case 'p':
        case ' ':
            is_paused = !is_paused;
            break;
        case 'f':
        case '/':
            is_typing = true;
            break;
        case kEscape:
            filter.clear();
            break;
        case '?':
        case 'h':
            shows_help = true;
            break;
        case 'j':
            scroll(1);
            break;
        case 'k':
            scroll(-1);
            break;
        default:
            break;
    }
    if (page == 0) first = 0;
}

void TopState::scroll(int64_t rows) {
    const auto at = static_cast<int64_t>(first) + rows;
    first = at > 0 ? static_cast<size_t>(at) : 0;
}

}  // namespace gpushim::analysis
