// Matrix products of cuBLAS and cuBLASLt. The writer's thread only.
#pragma once

#include "row_maker.h"

namespace gpushim::shim {

class GemmRows : RowMaker {
  public:
    explicit GemmRows(Known& known) : RowMaker(known) {}
    void gemm(const Call& call);
};

}  // namespace gpushim::shim
