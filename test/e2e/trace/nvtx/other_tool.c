// An NVTX tool of the program's own: says that it was asked.
#include <stdio.h>

int InitializeInjectionNvtx2(const void* (*get_table)(unsigned)) {
    (void)get_table;
    puts("the other tool");
    return 1;
}
