# The analyzer: one program, `gpushim`. Included by the Makefile.
ANALYZER         := $(BUILD)/gpushim
IMAGE_MAKER      := analysis/run/sql/make_images.cpp
ANALYZER_SOURCES := $(filter-out $(IMAGE_MAKER),$(call sources,analysis analysis/* analysis/*/*))
$(OBJ)/analysis/%.o: FILE_FLAGS := $(ANALYZER_FLAGS)
# The run's SQL, folder by folder and file by file, as one array of texts; then what the metrics come to.
RUN_SQL          := $(foreach folder,tables temporary ranks views fill derive summary, \
                      $(call files,analysis/run/sql/$(folder)/*.sql))
RUN_SQL_SOURCE   := $(OBJ)/analysis/run_sql.cpp
METRICS          := $(call files,analysis/metric/*.sql)
METRIC_ROWS      := analysis/metric/to_sql.awk $(call files,analysis/run/sql/metric/*.sql)
$(eval $(call stamp,$(OBJ)/run_sql.list,$(RUN_SQL) $(METRICS)))
$(RUN_SQL_SOURCE): $(RUN_SQL) $(METRICS) $(METRIC_ROWS) analysis/run/sql/run_db.h $(OBJ)/run_sql.list
	@mkdir -p $(@D)
	@{ echo '#include "analysis/run/sql/run_db.h"'; echo 'namespace gpushim::analysis {'; \
	   echo 'const SqlFile kRunSql[] = {'; \
	   for file in $(RUN_SQL); do printf '{"%s", R"sql(' "$${file#analysis/run/sql/}"; cat "$$file"; \
	   printf ')sql"},\n'; done; \
	   awk -f $(firstword $(METRIC_ROWS)) $(METRICS) || exit 1; \
	   echo '}; const size_t kRunSqlFiles = sizeof kRunSql / sizeof *kRunSql; }'; } > $@
$(OBJ)/analysis/run_sql.o: $(RUN_SQL_SOURCE) $(BUILD)/compile.flags
	@echo "  CXX    $<$(counted)"
	@$(COMPILE) -fvisibility=hidden -c $< -o $@
# What a trace is made of: the shim's own schema, and what only importers have.
TRACE_SCHEMA_SOURCE := $(OBJ)/analysis/trace_schema.cpp
IMPORTED_TABLES     := analysis/importer/imported_tables.sql
$(TRACE_SCHEMA_SOURCE): $(TRACE_SCHEMA) $(IMPORTED_TABLES)
	@mkdir -p $(@D)
	@{ echo 'namespace gpushim::analysis { extern const char kTraceSchema[], kImportedSchema[];'; \
	   echo 'const char kTraceSchema[] ='; \
	   for file in $(TRACE_SCHEMA); do printf 'R"sql('; cat "$$file"; printf ')sql"\n'; done; \
	   printf '; const char kImportedSchema[] = R"sql('; cat $(IMPORTED_TABLES); echo ')sql"; }'; } > $@
$(OBJ)/analysis/trace_schema.o: $(TRACE_SCHEMA_SOURCE) $(BUILD)/compile.flags
	@echo "  CXX    $<$(counted)"
	@$(COMPILE) -fvisibility=hidden -c $< -o $@
# What imported traces and runs begin with: these and the run's tables and views, as the SQLite that is linked
# makes them.
IMAGES           := $(OBJ)/analysis/images
ifneq ($(ANALYZER_SOURCES),)
OBJECTS          += $(OBJ)/$(IMAGE_MAKER:.cpp=.o)
endif
$(IMAGES).cpp: $(OBJ)/$(IMAGE_MAKER:.cpp=.o) $(OBJ)/analysis/run_sql.o $(OBJ)/analysis/trace_schema.o \
               $(BUILD)/link.flags
	@$(LINK) -o $(IMAGES).make $(filter %.o,$^) -l:libsqlite3.a -lm -ldl
	@$(RUN) $(IMAGES).make > $@.new && mv -f $@.new $@
$(IMAGES).o: $(IMAGES).cpp analysis/sqlite/database_image.h $(BUILD)/compile.flags
	@echo "  CXX    $<$(counted)"
	@$(COMPILE) -fvisibility=hidden -c $< -o $@
# What stands in every page: a style sheet and a script.
PAGE_TEXTS       := $(addprefix analysis/chart/page.,css js)
PAGE_TEXT_SOURCE := $(OBJ)/analysis/page_texts.cpp
$(PAGE_TEXT_SOURCE): $(PAGE_TEXTS)
	@mkdir -p $(@D)
	@{ echo 'namespace gpushim::analysis { extern const char kPageStyle[], kPageScript[];'; \
	   echo 'const char kPageStyle[] = R"text('; cat $(filter %.css,$^); echo ')text";'; \
	   echo 'const char kPageScript[] = R"text('; cat $(filter %.js,$^); echo ')text"; }'; } > $@
$(OBJ)/analysis/page_texts.o: $(PAGE_TEXT_SOURCE) $(BUILD)/compile.flags
	@echo "  CXX    $<$(counted)"
	@$(COMPILE) -fvisibility=hidden -c $< -o $@
# What `gpushim help` says of a finding: its row in the rules' table.
RULE_WORDS       := $(OBJ)/analysis/rule_words.cpp
$(RULE_WORDS): analysis/rule/README.md
	@mkdir -p $(@D)
	@{ echo '#include "analysis/advice/rule.h"'; echo 'namespace gpushim::analysis {'; \
	   echo 'const RuleWords kRuleWords[] = {'; \
	   sed -n 's/^| `\([a-z_]*\)` | \(.*\) | \(.*\) | \(.*\) |$$/{"\1", R"(\2)", R"(\3)", R"(\4)"},/p' $<; \
	   echo '}; const size_t kRulesInWords = sizeof kRuleWords / sizeof *kRuleWords; }'; } > $@
$(OBJ)/analysis/rule_words.o: $(RULE_WORDS) $(BUILD)/compile.flags
	@echo "  CXX    $<$(counted)"
	@$(COMPILE) -fvisibility=hidden -c $< -o $@
ANALYZER_TEXTS   := run_sql.o trace_schema.o images.o page_texts.o rule_words.o
$(foreach folder,$(sort $(dir $(filter-out analysis/main.cpp,$(ANALYZER_SOURCES)))),\
    $(call units_of,$(folder:/=),ANALYZER_UNITS))
OF_NO_UNIT       := $(filter $(if $(filter yes,$(QUICK)),analysis/main.cpp,%),$(ANALYZER_SOURCES))
ANALYZER_OBJECTS := $(call objects,$(OF_NO_UNIT)) $(if $(filter yes,$(QUICK)),$(ANALYZER_UNITS)) \
                    $(if $(ANALYZER_SOURCES),$(addprefix $(OBJ)/analysis/,$(ANALYZER_TEXTS)))
OBJECTS          += $(ANALYZER_OBJECTS)
$(eval $(call stamp,$(OBJ)/analysis.list,$(ANALYZER_SOURCES)))
$(if $(ANALYZER_SOURCES),$(eval all: $(ANALYZER)))
$(ANALYZER): $(ANALYZER_OBJECTS) $(FLOOR) $(OBJ)/analysis.list $(BUILD)/link.flags
	@echo "  LINK   $@"
	@$(LINK) -pie -Wl,-z,now,-z,relro $(ON_FLOOR) -static-libstdc++ -static-libgcc -o $@ \
	    $(ANALYZER_OBJECTS) -l:libsqlite3.a -l:libz.a -lm -ldl
