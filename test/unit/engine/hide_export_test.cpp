#include "engine/hide_export.h"

#include <dlfcn.h>

#include <catch2/catch.hpp>

#include "engine/clock.h"

namespace hide_export_test {

using namespace gpusim;

TEST_CASE("a hidden export is found no more, its neighbours are", "[hide_export]") {
    void* const before = dlsym(RTLD_DEFAULT, "gpusim_advance_ns");
    REQUIRE(before != nullptr);
    CHECK(hide_export(before, "gpusim_advance_ns"));
    CHECK(dlsym(RTLD_DEFAULT, "gpusim_advance_ns") == nullptr);
    CHECK(dlvsym(RTLD_DEFAULT, "gpusim_advance_ns", "GLIBC_2.2.5") == nullptr);
    CHECK(dlsym(RTLD_DEFAULT, "_ZN6gpusim5clock3nowEv") != nullptr);
    CHECK_FALSE(hide_export(before, "gpusim_advance_ns"));
}

TEST_CASE("only what a library exports can be hidden", "[hide_export]") {
    const auto inside = reinterpret_cast<const void*>(&clock::stepped);
    CHECK_FALSE(hide_export(inside, "no_such_name"));
    CHECK_FALSE(hide_export(inside, "getpid"));
    int on_the_stack = 0;
    CHECK_FALSE(hide_export(&on_the_stack, "gpusim_advance_ns"));
}

}  // namespace hide_export_test
