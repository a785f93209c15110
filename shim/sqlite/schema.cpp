#include "schema.h"

// Files are those that the build makes of schema/, which is where the assembler looks.
#define EMBED(symbol, file)                              \
    asm(".pushsection .rodata\n"                         \
        ".globl " symbol "\n.hidden " symbol "\n" symbol \
        ":\n"                                            \
        ".incbin \"" file                                \
        "\"\n.byte 0\n"                                  \
        ".popsection\n")

EMBED("gpushim_schema_tables", "tables.sql");
EMBED("gpushim_schema_views", "views.sql");
EMBED("gpushim_schema_totals", "totals.sql");
