// Which lines of Python are a program's own, and which load its batches.
#include "analysis/trace/python_lines.h"

#include <catch2/catch.hpp>

namespace python_lines_test {

using namespace gpushim::analysis;

TEST_CASE("own code is neither the interpreter's nor installed beside it", "[python_lines]") {
    CHECK(is_own_code("/srv/me/train.py"));
    CHECK(is_own_code("train.py"));
    CHECK(is_own_code("<stdin>"));
    CHECK_FALSE(is_own_code("<frozen runpy>"));
    CHECK_FALSE(is_own_code("/usr/lib/python3.11/threading.py"));
    CHECK_FALSE(is_own_code("/usr/lib/python3/dist-packages/torch/nn/modules/module.py"));
    CHECK_FALSE(is_own_code("/srv/me/venv/lib64/site-packages/torch/optim/adam.py"));
}

TEST_CASE("batches are loaded by loaders, not by whatever has a next", "[python_lines]") {
    CHECK(loads_batches("/v/site-packages/torch/utils/data/_utils/fetch.py", "fetch"));
    CHECK(loads_batches("/me/data.py", "MyDataLoader.__iter__"));
    CHECK(loads_batches("/me/data.py", "PrefetchLoader.__next__"));
    CHECK_FALSE(loads_batches("/me/train.py", "Trainer.__next__"));
    CHECK_FALSE(loads_batches("/me/train.py", "load"));
}

}  // namespace python_lines_test
