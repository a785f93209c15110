// The SQL of schema/, which every trace begins with, in this order.
#pragma once

extern "C" {
extern const char gpushim_schema_tables[] __attribute__((visibility("hidden")));
extern const char gpushim_schema_views[] __attribute__((visibility("hidden")));
extern const char gpushim_schema_totals[] __attribute__((visibility("hidden")));
}

inline const char* const gpushim_schema[] = {gpushim_schema_tables, gpushim_schema_views,
                                             gpushim_schema_totals};
