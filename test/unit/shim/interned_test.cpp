#include "shim/rows/interned.h"

#include "shim/rows/handles.h"
#include "trace.h"

namespace interned_test {

using namespace trace;

TEST_CASE("a text has one id, and is there once", "[interned]") {
    Tables tables;
    Names names(tables);
    const int64_t a = names.id("a"), b = names.id("b");
    CHECK(a != b);
    CHECK(names.id("a") == a);
    CHECK(names.id_of_said("b") == b);
    CHECK(tables.name.count() == 2);
    CHECK(names.left_out() == 0);
}

TEST_CASE("beyond their number all texts are the other one", "[interned]") {
    Tables tables;
    Names names(tables, {.texts = 4, .bytes = 1000});
    int64_t ids[4];
    for (int i = 0; i < 4; ++i) ids[i] = names.id("name " + std::to_string(i));
    const int64_t other = names.id("name 4");
    CHECK(names.id("name 5") == other);
    CHECK(names.other() == other);
    CHECK(names.id("name 3") == ids[3]);
    CHECK(names.left_out() == 2);
    CHECK(tables.name.count() == 5);
    CHECK(*tables.name.text_of(1, tables.name.row(4)[1]) == "(other)");
}

TEST_CASE("beyond their bytes too, readable forms included", "[interned]") {
    Tables tables;
    Names names(tables, {.texts = 1000, .bytes = 100});
    names.id(std::string(60, 'x'));
    names.id("_Z3addPfS_i");  // add(float*, float*, int)
    names.id("one more");
    CHECK(names.left_out() == 0);
    CHECK(names.id("too much") == names.other());
    CHECK(names.left_out() == 1);
}

TEST_CASE("what the program says leaves room for functions, and loses its numbers", "[interned]") {
    Tables tables;
    Names names(tables, {.texts = 8, .bytes = 1000});
    for (int i = 0; i < 4; ++i) names.id_of_said("step " + std::to_string(i));
    const int64_t steps = names.id_of_said("step 4");
    CHECK(names.id_of_said("step 5") == steps);
    CHECK(names.id_of_said("epoch") == names.other());
    CHECK(names.left_out() == 3);
    const auto& rows = tables.name;
    CHECK(*rows.text_of(1, rows.row(4)[1]) == "step …");
    names.id("kernel a");
    names.id("kernel b");
    CHECK(names.left_out() == 3);
    CHECK(names.id("kernel c") == names.other());
}

TEST_CASE("beyond their number launches of a function are alike", "[interned]") {
    Tables tables;
    Shapes shapes(tables, 2);
    const Shape a = {1, 5, grid(1), block(1), 0, 0}, b = {1, 5, grid(2), block(1), 0, 0},
                c = {1, 5, grid(3), block(1), 0, 0}, d = {1, 5, grid(4), block(1), 0, 0};
    CHECK(shapes.id(a) == 1);
    CHECK(shapes.id(b) == 2);
    CHECK(shapes.id(c) == shapes.id(d));
    CHECK(shapes.id(a) == 1);
    CHECK(shapes.left_out() == 2);
    CHECK(tables.shape.row(2)[3] == kNull);
    // Of yet another function: three of them have rows.
    const Shape e = {2, 5, grid(1), block(1), 0, 0}, f = {3, 5, grid(1), block(1), 0, 0};
    CHECK(shapes.id(e) == shapes.id(f));
    CHECK(tables.shape.row(3)[1] == kNull);
    CHECK(tables.shape.count() == 4);
}

TEST_CASE("of too many functions one stands for the others, until some end", "[interned]") {
    Tables tables;
    Handles handles(tables, 2);
    Life& module = handles.born(Object::module, 0x700, 5);
    Life& first = handles.born(Object::function, 0xf00, 10);
    handles.lives_in(first, module);
    handles.at(Object::function, 0xf10, 20);
    Life& other = handles.born(Object::function, 0xf20, 30);
    handles.lives_in(other, module);
    CHECK(&handles.at(Object::function, 0xf30, 40) == &other);
    CHECK(&other == handles.other_function());
    CHECK(handles.left_out() == 2);
    CHECK(&handles.at(Object::function, 0xf00, 50) == &first);
    handles.at(Object::stream, 0x5000, 50);  // streams are told apart
    handles.died(module, 100);
    CHECK(other.died_ns == kForEver);
    handles.add_rows();
    handles.forget_before(200);
    CHECK(handles.at(Object::function, 0xf40, 300).handle == 0xf40);
}

TEST_CASE("a trace with more names than there is room for says how many", "[interned]") {
    Trace trace;
    int64_t now_ns = 1000;
    for (uint64_t i = 0; i < 70'000;) {
        Events events;
        for (int n = 0; n < 2000; ++n, ++i, now_ns += 10) {
            events.call("cuModuleGetFunction", now_ns, now_ns + 1, {0x10000 + i * 16, 0, 1},
                        {.text = "kernel_" + std::to_string(i)});
            events.call("cuLaunchKernel", now_ns + 2, now_ns + 5, {0x10000 + i * 16, 0, kGrid, kBlock});
        }
        trace.write(events);
        if (i == 68'000) trace.open();  // what was known is known again
    }
    CHECK(trace.ask("SELECT count(*) FROM name") == "65537");
    CHECK(trace.ask("SELECT value FROM meta WHERE key = 'names_left_out'") == "4464");
    CHECK(
        trace.ask("SELECT kernel, launches, call_sum_ns FROM v_kernel_total WHERE kernel IN ('kernel_65535',"
                  " '(other)')") == "(other)|4464|13392 ; kernel_65535|1|3");
    CHECK(trace.ask("SELECT sum(launches) FROM v_kernel_total") == "70000");
}

}  // namespace interned_test
