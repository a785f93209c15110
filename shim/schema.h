// The text of schema/tables.sql and schema/views.sql, which every trace begins with.
#pragma once

extern "C" {
extern const char gpushim_schema_tables[] __attribute__((visibility("hidden")));
extern const char gpushim_schema_views[] __attribute__((visibility("hidden")));
}
