#include "tree_writer.h"

#include <algorithm>
#include <utility>

#include "page_format.h"

namespace gpushim::analysis {

namespace {

constexpr size_t kPlaceBytes = 2;                                       // of a row on its page
constexpr size_t kChangesAt = 24, kPagesAt = 28, kChangesAgainAt = 92;  // in the file's header
constexpr uint64_t kLockByte = 1 << 30;  // the page that it is on is never used
constexpr size_t kUnwritten = 64 << 10;
constexpr size_t kHeaderBytes = 100;  // of the file
constexpr size_t kShortestCell = 4;   // SQLite gives a shorter one as much room

void put_bytes(char* at, uint64_t value, size_t bytes) {
    for (size_t i = bytes; i-- > 0; value >>= 8) at[i] = static_cast<char>(value);
}

std::string varint(int64_t key) {
    char bytes[kLongestVarint];
    return {bytes, put_varint(bytes, static_cast<uint64_t>(key))};
}

// Of a row of so many bytes, how many stand on its leaf; the others on pages of their own.
size_t bytes_on_leaf(size_t bytes, size_t page_bytes) {
    const size_t most = page_bytes - 35, least = (page_bytes - 12) * 32 / 255 - 23;
    if (bytes <= most) return bytes;
    const size_t rest = least + (bytes - least) % (page_bytes - 4);
    return rest <= most ? rest : least;
}

}  // namespace

TreeWriter::TreeWriter(const NewFile& file, std::string_view image) : file_(file), is_alone_(true) {
    read_header(image);
}

void TreeWriter::read_header(std::string_view header) {
    const auto number = [&](size_t at) {
        uint32_t value = 0;
        for (const char byte : header.substr(at, sizeof value))
            value = value << 8 | static_cast<unsigned char>(byte);
        return value;
    };
    changes_ = number(kChangesAt);
    unwritten_first_ = next_page_ = number(kPagesAt) + 1;
}

size_t TreeWriter::table(uint32_t root_page) {
    trees_.push_back({root_page});
    return trees_.size() - 1;
}

size_t TreeWriter::index(uint32_t root_page) {
    trees_.push_back({root_page, true});
    return trees_.size() - 1;
}

bool TreeWriter::add(size_t table, int64_t key, std::string_view record) {
    Tree& tree = trees_[table];
    if (!tree.is_empty() && key <= tree.last_key) return false;
    char head[2 * kLongestVarint];
    size_t head_bytes = put_varint(head, record.size());
    head_bytes += put_varint(head + head_bytes, static_cast<uint64_t>(key));
    const std::string_view here = record.substr(0, bytes_on_leaf(record.size(), kPageBytes));
    const std::string rest = overflow(record.substr(here.size()));
    add_cell(tree, {std::string_view(head, head_bytes), here, rest});
    tree.last_key = key;
    return true;
}

void TreeWriter::add(size_t index, std::string_view record) {
    char head[kLongestVarint];
    add_cell(trees_[index], {std::string_view(head, put_varint(head, record.size())), record});
}

void TreeWriter::add_cell(Tree& tree, std::initializer_list<std::string_view> parts) {
    size_t bytes = 0;
    for (const std::string_view part : parts) bytes += part.size();
    const size_t room = std::max(bytes, kShortestCell);
    if (kLeafHeader + kPlaceBytes * (tree.cells + 1) + room > tree.content)
        end_leaf(tree, tree.is_index ? taken_last(tree) : varint(tree.last_key));
    tree.content -= room;
    tree.last_bytes = bytes;
    char* to = tree.leaf.data() + tree.content;
    put_bytes(&tree.leaf[kLeafHeader + kPlaceBytes * tree.cells++], tree.content, kPlaceBytes);
    for (const std::string_view part : parts) to = std::copy(part.begin(), part.end(), to);
}

// Of an index, that is above the leaf from now on.
std::string TreeWriter::taken_last(Tree& tree) {
    std::string last(&tree.leaf[tree.content], tree.last_bytes);
    tree.content += std::max(tree.last_bytes, kShortestCell);
    --tree.cells;
    return last;
}

void TreeWriter::end_leaf(Tree& tree, std::string last) {
    tree.waiting.push_back({taken_leaf(tree), std::move(last)});
    ++waiting_;
    if (is_alone_ && tree.waiting.size() == kRun) put_waiting(tree);
}

void TreeWriter::put_waiting(Tree& tree) {
    for (Leaf& leaf : tree.waiting) tree.full.push_back({put(leaf.page), std::move(leaf.last)});
    waiting_ -= tree.waiting.size();
    tree.waiting.clear();
}

void TreeWriter::put_waiting() {
    read_header(file_.read(0, kHeaderBytes));
    for (Tree& tree : trees_) put_waiting(tree);
    flush();
    put_header();
}

// What does not stand on a row's leaf: on pages, each of which tells the next. The first one's number.
std::string TreeWriter::overflow(std::string_view rest) {
    constexpr size_t kNext = 4, kRoom = kPageBytes - kNext;
    if (rest.empty()) return {};
    uint32_t next = 0;
    for (size_t pages = (rest.size() + kRoom - 1) / kRoom; pages-- > 0;) {
        const std::string_view part = rest.substr(pages * kRoom, kRoom);
        Page page = {};
        put_bytes(page.data(), next, kNext);
        std::copy(part.begin(), part.end(), page.data() + kNext);
        next = put(page);
    }
    std::string number(kNext, '\0');
    put_bytes(number.data(), next, kNext);
    return number;
}

TreeWriter::Page TreeWriter::taken_leaf(Tree& tree) {
    Page leaf = tree.leaf;
    leaf[0] = tree.is_index ? kLeafIndexPage : kLeafPage;
    put_bytes(&leaf[kCellsPlace], tree.cells, 2);
    put_bytes(&leaf[kContentPlace], tree.content, 2);
    tree.leaf.fill('\0');
    tree.cells = 0;
    tree.content = kPageBytes;
    return leaf;
}

uint32_t TreeWriter::put(const Page& page) {
    if (uint64_t{next_page_ - 1} * kPageBytes == kLockByte) {
        flush();
        unwritten_first_ = ++next_page_;
    }
    unwritten_.append(page.data(), page.size());
    if (unwritten_.size() >= kUnwritten) flush();
    return next_page_++;
}

void TreeWriter::flush() {
    file_.write(uint64_t{unwritten_first_ - 1} * kPageBytes, unwritten_);
    unwritten_first_ += static_cast<uint32_t>(unwritten_.size() / kPageBytes);
    unwritten_.clear();
}

// One that leads to so many pages: the last one stands in its header.
TreeWriter::Page TreeWriter::page_above(std::span<const Child> children, bool is_index) {
    Page page = {};
    size_t content = kPageBytes, place = kInteriorHeader;
    for (const Child& child : children.first(children.size() - 1)) {
        content -= sizeof child.page + child.last.size();
        put_bytes(&page[content], child.page, sizeof child.page);
        std::copy(child.last.begin(), child.last.end(), &page[content + sizeof child.page]);
        put_bytes(&page[place], content, kPlaceBytes);
        place += kPlaceBytes;
    }
    page[0] = is_index ? kInteriorIndexPage : kInteriorPage;
    put_bytes(&page[kCellsPlace], children.size() - 1, 2);
    put_bytes(&page[kContentPlace], content, 2);
    put_bytes(&page[kRightmostPlace], children.back().page, sizeof children.back().page);
    return page;
}

// That a page above them has room for, whichever they are: of an index at least four.
size_t TreeWriter::most_above(std::span<const Child> children) {
    size_t longest = 0;
    for (const Child& child : children) longest = std::max(longest, child.last.size());
    return (kPageBytes - kInteriorHeader) / (kPlaceBytes + sizeof(Child::page) + longest);
}

// The root is as a leaf of few rows, else above all others, level by level.
TreeWriter::Page TreeWriter::root_of(Tree& tree) {
    if (tree.full.empty() && tree.waiting.empty()) return taken_leaf(tree);
    end_leaf(tree, {});  // nothing is behind it
    put_waiting(tree);
    std::vector<Child> level = std::move(tree.full);
    for (size_t most = most_above(level); level.size() > most; most = most_above(level)) {
        const size_t pages = (level.size() + most - 1) / most;
        std::vector<Child> above;
        for (size_t i = 0; i < pages; ++i) {
            const size_t from = level.size() * i / pages, until = level.size() * (i + 1) / pages;
            const auto children = std::span(level).subspan(from, until - from);
            const uint32_t page = put(page_above(children, tree.is_index));
            above.push_back({page, std::move(children.back().last)});
        }
        level = std::move(above);
    }
    return page_above(level, tree.is_index);
}

void TreeWriter::finish() {
    if (!is_alone_) read_header(file_.read(0, kHeaderBytes));
    for (Tree& tree : trees_)
        if (!tree.is_empty()) {
            const Page root = root_of(tree);
            file_.write(uint64_t{tree.root_page - 1} * kPageBytes, {root.data(), root.size()});
        }
    flush();
    put_header();
}

// Another count of changes says that what was read of the file is no longer so.
void TreeWriter::put_header() {
    char changes[4], pages[4];
    put_bytes(changes, ++changes_, sizeof changes);
    put_bytes(pages, next_page_ - 1, sizeof pages);
    file_.write(kPagesAt, {pages, sizeof pages});
    for (const size_t at : {kChangesAt, kChangesAgainAt}) file_.write(at, {changes, sizeof changes});
}

}  // namespace gpushim::analysis
