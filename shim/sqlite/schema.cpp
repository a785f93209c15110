#include "schema.h"

// Files are named as seen from the project's root, where the compiler is started.
#define EMBED(symbol, file)                              \
    asm(".pushsection .rodata\n"                         \
        ".globl " symbol "\n.hidden " symbol "\n" symbol \
        ":\n"                                            \
        ".incbin \"" file                                \
        "\"\n.byte 0\n"                                  \
        ".popsection\n")

EMBED("gpushim_schema_tables", "shim/schema/tables.sql");
EMBED("gpushim_schema_views", "shim/schema/views.sql");
EMBED("gpushim_schema_totals", "shim/schema/totals.sql");
