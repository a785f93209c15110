#include "tree_writer.h"

#include <algorithm>
#include <utility>

#include "page_format.h"

namespace gpushim::analysis {

namespace {

constexpr size_t kPlaceBytes = 2;                                       // of a row on its page
constexpr size_t kChangesAt = 24, kPagesAt = 28, kChangesAgainAt = 92;  // in the file's header
constexpr uint64_t kLockByte = 1 << 30;  // the page that it is on is never used
constexpr size_t kLongestVarint = 9;
constexpr size_t kUnwritten = 64 << 10;
// That a page above others has room for, whatever their keys are.
constexpr size_t kMostChildren = (4096 - kInteriorHeader) / (kPlaceBytes + 4 + kLongestVarint);

void put_bytes(char* at, uint64_t value, size_t bytes) {
    for (size_t i = bytes; i-- > 0; value >>= 8) at[i] = static_cast<char>(value);
}

size_t put_varint(char* to, uint64_t value) {
    if (value < 0x80) return to[0] = static_cast<char>(value), 1;
    size_t bytes = 0;
    char reversed[kLongestVarint];
    const bool has_ninth = value >> 56 != 0;
    if (has_ninth) reversed[bytes++] = static_cast<char>(value), value >>= 8;
    for (; has_ninth ? bytes < kLongestVarint : value != 0; value >>= 7)
        reversed[bytes] = static_cast<char>((value & 0x7f) | (bytes == 0 ? 0 : 0x80)), ++bytes;
    std::reverse_copy(reversed, reversed + bytes, to);
    return bytes;
}

void append_varint(std::string& to, uint64_t value) {
    char bytes[kLongestVarint];
    to.append(bytes, put_varint(bytes, value));
}

// Of a row of so many bytes, how many stand on its leaf; the others on pages of their own.
size_t bytes_on_leaf(size_t bytes, size_t page_bytes) {
    const size_t most = page_bytes - 35, least = (page_bytes - 12) * 32 / 255 - 23;
    if (bytes <= most) return bytes;
    const size_t rest = least + (bytes - least) % (page_bytes - 4);
    return rest <= most ? rest : least;
}

}  // namespace

void NewRecord::clear() {
    header_.clear();
    values_.clear();
}

void NewRecord::add(int64_t number) {
    constexpr size_t kLengths[] = {1, 2, 3, 4, 6, 8};  // by what the header says, from 1 on
    constexpr char kZero = 8, kOne = 9;
    if (number == 0 || number == 1) {
        header_ += number == 0 ? kZero : kOne;
        return;
    }
    const uint64_t size = static_cast<uint64_t>(number < 0 ? ~number : number);
    size_t kind = 0;
    while (kLengths[kind] < 8 && size >> (8 * kLengths[kind] - 1) != 0) ++kind;
    header_ += static_cast<char>(kind + 1);
    char bytes[8];
    put_bytes(bytes, static_cast<uint64_t>(number), kLengths[kind]);
    values_.append(bytes, kLengths[kind]);
}

void NewRecord::add(std::string_view text) {
    append_varint(header_, 13 + 2 * text.size());
    values_ += text;
}

std::string_view NewRecord::bytes() {
    // The header's length counts itself.
    const size_t bytes = header_.size() + 1 < 0x80 ? header_.size() + 1 : header_.size() + 2;
    whole_.clear();
    append_varint(whole_, bytes);
    whole_ += header_;
    whole_ += values_;
    return whole_;
}

TreeWriter::TreeWriter(const NewFile& file, std::string_view image)
    : file_(file), next_page_(static_cast<uint32_t>(image.size() / kPageBytes) + 1) {
    for (const char byte : image.substr(kChangesAt, sizeof changes_))
        changes_ = changes_ << 8 | static_cast<unsigned char>(byte);
    unwritten_first_ = next_page_;
}

size_t TreeWriter::table(uint32_t root_page) {
    trees_.push_back({root_page});
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
    const size_t bytes = head_bytes + here.size() + rest.size();
    if (kLeafHeader + kPlaceBytes * (tree.cells + 1) + bytes > tree.content) end_leaf(tree);
    tree.content -= bytes;
    char* to = tree.leaf.data() + tree.content;
    put_bytes(&tree.leaf[kLeafHeader + kPlaceBytes * tree.cells++], tree.content, kPlaceBytes);
    for (const std::string_view part : {std::string_view(head, head_bytes), here, std::string_view(rest)})
        to = std::copy(part.begin(), part.end(), to);
    tree.last_key = key;
    return true;
}

void TreeWriter::end_leaf(Tree& tree) {
    tree.waiting.push_back({taken_leaf(tree), tree.last_key});
    if (tree.waiting.size() == kRun) put_waiting(tree);
}

void TreeWriter::put_waiting(Tree& tree) {
    for (const Leaf& leaf : tree.waiting) tree.full.push_back({put(leaf.page), leaf.last_key});
    tree.waiting.clear();
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
    leaf[0] = kLeafPage;
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
TreeWriter::Page TreeWriter::page_above(std::span<const Child> children) {
    Page page = {};
    size_t content = kPageBytes, place = kInteriorHeader;
    for (const Child& child : children.first(children.size() - 1)) {
        char key[kLongestVarint];
        const size_t key_bytes = put_varint(key, static_cast<uint64_t>(child.last_key));
        content -= sizeof child.page + key_bytes;
        put_bytes(&page[content], child.page, sizeof child.page);
        std::copy_n(key, key_bytes, &page[content + sizeof child.page]);
        put_bytes(&page[place], content, kPlaceBytes);
        place += kPlaceBytes;
    }
    page[0] = kInteriorPage;
    put_bytes(&page[kCellsPlace], children.size() - 1, 2);
    put_bytes(&page[kContentPlace], content, 2);
    put_bytes(&page[kRightmostPlace], children.back().page, sizeof children.back().page);
    return page;
}

// The root is as a leaf of few rows, else above all others, level by level.
TreeWriter::Page TreeWriter::root_of(Tree& tree) {
    if (tree.full.empty() && tree.waiting.empty()) return taken_leaf(tree);
    end_leaf(tree);
    put_waiting(tree);
    std::vector<Child> level = std::move(tree.full);
    while (level.size() > kMostChildren) {
        const size_t pages = (level.size() + kMostChildren - 1) / kMostChildren;
        std::vector<Child> above;
        for (size_t i = 0; i < pages; ++i) {
            const size_t from = level.size() * i / pages, until = level.size() * (i + 1) / pages;
            const auto children = std::span(level).subspan(from, until - from);
            above.push_back({put(page_above(children)), children.back().last_key});
        }
        level = std::move(above);
    }
    return page_above(level);
}

void TreeWriter::finish() {
    for (Tree& tree : trees_)
        if (!tree.is_empty()) {
            const Page root = root_of(tree);
            file_.write(uint64_t{tree.root_page - 1} * kPageBytes, {root.data(), root.size()});
        }
    flush();
    // Another count of changes says that what was read of the file is no longer so.
    char changes[4], pages[4];
    put_bytes(changes, changes_ + 1, sizeof changes);
    put_bytes(pages, next_page_ - 1, sizeof pages);
    file_.write(kPagesAt, {pages, sizeof pages});
    for (const size_t at : {kChangesAt, kChangesAgainAt}) file_.write(at, {changes, sizeof changes});
}

}  // namespace gpushim::analysis
