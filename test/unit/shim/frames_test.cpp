// Stacks of Python as rows, of made memory: each line once for each caller, as many as may be.
#include "shim/python/frames.h"

#include <catch2/catch.hpp>
#include <cstring>
#include <deque>

namespace frames_test {

using namespace gpushim::shim;

namespace {

constexpr uint64_t kTextType = 0x1111;

// A string as an interpreter has it: type at 8, length at 16, state at 32, characters behind that.
struct Text {
    alignas(8) unsigned char bytes[512] = {};
    Text(const void* characters, size_t length, uint32_t width, bool is_ascii) {
        const uint64_t size = length;
        const uint32_t state = width << 2 | 1 << 5 | (is_ascii ? 1 << 6 : 0);
        std::memcpy(bytes + 8, &kTextType, 8);
        std::memcpy(bytes + 16, &size, 8);
        std::memcpy(bytes + 32, &state, 4);
        std::memcpy(bytes + (is_ascii ? 40 : 56), characters, length * width);
    }
    uint64_t at() const { return reinterpret_cast<uint64_t>(bytes); }
};

Text ascii(const char* text) { return Text(text, std::strlen(text), 1, true); }

struct Made {
    Python python = {};
    std::deque<Text> texts;
    alignas(8) unsigned char table[64] = {};  // steps: none, so all is on the first line

    Made() {
        python.minor = 9;
        python.unicode_type = kTextType;
        python.layout.ascii_text = 40;
        python.layout.other_text = 56;
        python.layout.kind_shift = 2;
    }
    PythonFrame frame(const char* file, const char* name, int64_t line) {
        texts.push_back(ascii(file));
        texts.push_back(ascii(name));
        PythonFrame frame = {};
        frame.code = texts.back().at();
        frame.file = texts[texts.size() - 2].at();
        frame.name = texts.back().at();
        frame.table = reinterpret_cast<uint64_t>(table);
        frame.first_line = line;
        return frame;
    }
};

PythonStack stack_of(std::initializer_list<PythonFrame> frames) {
    PythonStack stack;
    for (const PythonFrame& frame : frames) stack.frames[stack.count++] = frame;
    return stack;
}

}  // namespace

TEST_CASE("a stack is the number of its innermost frame", "[python_frames][no_emulator]") {
    Made made;
    Frames frames({100, 100, 10'000});
    const PythonFrame outer = made.frame("t.py", "main", 5), inner = made.frame("t.py", "step", 9);
    int64_t both = 0, one = 0, again = 0;
    CHECK(frames.id_of(made.python, stack_of({inner, outer}), 1, both) == Frames::Kept::yes);
    CHECK(frames.id_of(made.python, stack_of({outer}), 1, one) == Frames::Kept::yes);
    CHECK(frames.id_of(made.python, stack_of({inner, outer}), 1, again) == Frames::Kept::yes);
    CHECK(both == again);
    CHECK(frames.codes().count() == 2);
    REQUIRE(frames.frames().count() == 2);
    const int64_t* row = frames.frames().row(1);
    CHECK(row[0] == both);
    CHECK(row[1] == one);
    CHECK(row[3] == 9);
    CHECK(frames.frames().row(0)[1] == kNull);
}

TEST_CASE("of a stack that was cut the outermost has a caller that was not read",
          "[python_frames][no_emulator]") {
    Made made;
    Frames frames({100, 100, 10'000});
    PythonStack stack = stack_of({made.frame("t.py", "deep", 5)});
    stack.is_cut = true;
    int64_t id = 0;
    CHECK(frames.id_of(made.python, stack, 1, id) == Frames::Kept::yes);
    CHECK(frames.frames().row(0)[1] == 0);
}

TEST_CASE("what has no place is not kept, nor what is no text", "[python_frames][no_emulator]") {
    Made made;
    int64_t id = 0;
    Frames few({1, 100, 10'000});
    const PythonFrame a = made.frame("t.py", "a", 1), b = made.frame("t.py", "b", 2);
    CHECK(few.id_of(made.python, stack_of({a}), 1, id) == Frames::Kept::yes);
    CHECK(few.id_of(made.python, stack_of({b}), 1, id) == Frames::Kept::no_place);
    CHECK(few.frames().count() == 1);
    Frames short_ones({100, 100, 6});
    CHECK(short_ones.id_of(made.python, stack_of({a}), 1, id) == Frames::Kept::yes);
    CHECK(short_ones.id_of(made.python, stack_of({b}), 1, id) == Frames::Kept::no_place);
    PythonFrame gone = a;
    gone.code = gone.name = 16;
    CHECK(short_ones.id_of(made.python, stack_of({gone}), 1, id) == Frames::Kept::moved);
}

TEST_CASE("texts of every width become UTF-8, and long ones end", "[python_frames][no_emulator]") {
    Made made;
    const unsigned char latin[] = {'f', 0xfc, 'r'};
    const uint16_t two[] = {0x20ac, 'a', 0xd800};
    const uint32_t four[] = {0x1f600};
    CHECK(read_text(made.python, Text(latin, 3, 1, false).at()) == "f\u00fcr");
    CHECK(read_text(made.python, Text(two, 3, 2, false).at()) == "\u20aca?");
    CHECK(read_text(made.python, Text(four, 1, 4, false).at()) == "\U0001f600");
    CHECK(read_text(made.python, ascii("").at()) == "");
    Text no_text = ascii("x");
    no_text.bytes[8] = 0;
    CHECK(!read_text(made.python, no_text.at()));
}

}  // namespace frames_test
