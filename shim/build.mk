# The shim: the library that is preloaded, and what is given out beside it. Included by the Makefile.
# Runs inside somebody else's process: it needs nothing but libc, exports what the hook tables say and nothing
# else, and what runs in the program's own threads (the hot rooms) has neither exceptions nor RTTI.
SHIM         := $(BUILD)/libgpushim.so
SHIM_ROOMS   := $(shell sed -n 's/^\([a-z]\+\).*/\1/p' shim/rooms.list 2>/dev/null)
HOT_ROOMS    := $(shell sed -n 's/^\([a-z]\+\) hot$$/\1/p' shim/rooms.list 2>/dev/null)
SHIM_SOURCES := $(filter-out $(FLOOR_ALONE),$(call sources,shim \
                $(addprefix shim/,$(filter-out schema all,$(SHIM_ROOMS)))))
SHIM_HOT     := $(filter $(HOT_ROOMS:%=shim/%/%) shim/lifecycle.cpp,$(SHIM_SOURCES))
# Linked into something without the others, or with flags of their own.
SHIM_ALONE   := $(addprefix shim/,$(addsuffix .cpp,base/log base/no_libm sqlite/schema \
                writer/drain writer/dead_ring))
COLD_ROOMS   := $(filter-out schema all $(HOT_ROOMS),$(SHIM_ROOMS))
$(foreach room,$(COLD_ROOMS),$(call units_of,shim/$(room),SHIM_UNITS))
SHIM_OBJECTS := $(if $(filter yes,$(QUICK)),$(SHIM_UNITS) \
                $(call objects,$(SHIM_HOT) $(filter $(SHIM_ALONE),$(SHIM_SOURCES))), \
                $(call objects,$(SHIM_SOURCES)))
OBJECTS      += $(SHIM_OBJECTS)
SHIM_FLAGS   := -fasynchronous-unwind-tables -fno-semantic-interposition \
                $(if $(findstring clang,$(CXX)),,-fno-gnu-unique)
HOT_FLAGS    := -fno-exceptions -fno-rtti -fno-threadsafe-statics
# Calls nothing: a sanitizer's start-up comes through here before its own hooks work.
BARE_FLAGS   := -fno-sanitize=all -fno-lto -fno-stack-protector -fno-builtin \
                $(if $(findstring clang,$(CXX)),,-fno-tree-loop-distribute-patterns)
# WITHOUT=name compiles a protection of shim/base/protections.def away; test/faults/mutants says which files.
WITHOUT      ?=
SHIM_FLAGS   += $(if $(WITHOUT),-DGPUSHIM_WITHOUT=$(WITHOUT))
$(OBJ)/shim/%.o: FILE_FLAGS := $(SHIM_FLAGS) $(HARDENED)
$(call objects,$(SHIM_HOT)): FILE_FLAGS := $(SHIM_FLAGS) $(HARDENED) $(HOT_FLAGS)
$(call objects,shim/hooks/dlsym.cpp $(addprefix shim/calls/,elf.cpp next.cpp)): FILE_FLAGS := \
    $(SHIM_FLAGS) $(HARDENED) $(HOT_FLAGS) $(BARE_FLAGS)
# Every call goes through these: a guard of the stack, on which they have nothing but numbers, is 5 % of it.
$(call objects,$(filter shim/calls/% shim/hooks/%,$(SHIM_SOURCES))): FILE_FLAGS += \
    $(if $(HARDENED),-fno-stack-protector)
$(OBJ)/shim/base/log.o: FILE_FLAGS := $(SHIM_FLAGS) $(HARDENED) -DFMT_HEADER_ONLY
# What a trace begins with: its SQL, and then as the SQLite that is linked makes it.
TRACE_SCHEMA := $(addprefix $(OBJ)/shim/schema/,tables.sql views.sql totals.sql)
$(firstword $(TRACE_SCHEMA)): shim/schema/tables.awk shim/schema/tables.def
	@mkdir -p $(@D)
	@awk -f $^ > $@.new && mv -f $@.new $@
$(wordlist 2,3,$(TRACE_SCHEMA)): $(OBJ)/%.sql: shim/schema/views.awk shim/schema/flags.h %.sql
	@mkdir -p $(@D)
	@awk -f $^ > $@.new && mv -f $@.new $@
$(OBJ)/shim/sqlite/schema.o: $(TRACE_SCHEMA)
$(OBJ)/shim/sqlite/schema.o: FILE_FLAGS := $(SHIM_FLAGS) $(HARDENED) -Wa,-I$(OBJ)/shim/schema
SCHEMA_IMAGE := $(OBJ)/shim/schema/image
ifneq ($(SHIM_SOURCES),)
OBJECTS      += $(OBJ)/shim/schema/make_image.o
SHIM_OBJECTS += $(SCHEMA_IMAGE).o
endif
$(SCHEMA_IMAGE).cpp: $(OBJ)/shim/schema/make_image.o $(OBJ)/shim/sqlite/schema.o $(BUILD)/link.flags
	@$(LINK) -o $(SCHEMA_IMAGE).make $(filter %.o,$^) -l:libsqlite3.a -lm -ldl
	@$(RUN) $(SCHEMA_IMAGE).make > $@.new && mv -f $@.new $@
$(SCHEMA_IMAGE).o: $(SCHEMA_IMAGE).cpp shim/sqlite/schema_image.h $(BUILD)/compile.flags
	@$(COMPILE) $(FILE_FLAGS) -fvisibility=hidden -c $< -o $@

SHIM_LINK    := -Wl,-z,now,-z,relro $(if $(filter nodelete,$(WITHOUT)),,-Wl$(comma)-z$(comma)nodelete)

# The names of the hook tables, one per line: what the library exports, and what the checks compare it with.
HOOKED := $(OBJ)/shim/hooked.names
$(HOOKED): $(addprefix shim/calls/,$(addsuffix .def,all cuda nccl cublas))
	@mkdir -p $(@D)
	@printf '#define HOOK(export, ...) export;\n#include "%s"\n' $< | $(CXX) -E -P -I. -x c++ - | \
	    tr ';' '\n' | sed 's/ //g;/^$$/d' > $@
$(OBJ)/shim/exports.map: $(HOOKED)
	@{ echo '{ global: dlsym; dlvsym; gpushim_*; InitializeInjectionNvtx2;'; sed 's/$$/;/' $<; \
	   echo 'local: *; };'; } > $@

$(eval $(call stamp,$(OBJ)/shim.list,$(SHIM_SOURCES)))
all: $(SHIM)
$(SHIM): $(SHIM_OBJECTS) $(FLOOR) $(OBJ)/shim/exports.map $(OBJ)/shim.list $(BUILD)/link.flags
	@echo "  LINK   $@"
	@$(LINK) -shared $(NO_HOLES) -Wl,-soname,libgpushim.so $(SHIM_LINK) \
	    -Wl,--version-script=$(OBJ)/shim/exports.map -Wl,--exclude-libs,ALL $(ON_FLOOR) \
	    -static-libstdc++ -static-libgcc -o $@.new $(SHIM_OBJECTS) -l:libsqlite3.a
	@mv -f $@.new $@ # programs that run with the old one keep it
