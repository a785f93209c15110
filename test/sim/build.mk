# The simulated box: one shared library from each folder here. Included by the Makefile.
# Its code is compiled with everything visible, and a list of names says what each library exports: the
# folder's own exports.map, or one made here from patterns. Not -Bsymbolic: the box calls itself through its
# exported names, as the driver does, and a preload may stand in between.
SIM := $(BUILD)/sim
$(OBJ)/test/sim/%.o: VISIBILITY := default

CXX_KINDS    := gpusim::* $(addsuffix ?for?gpusim::*,vtable typeinfo typeinfo?name guard?variable)
ENGINE_NAMES := gpusim_*; gpushim_test_*; extern "C++" { $(CXX_KINDS:%=%;) };
DRIVER_NAMES := $(shell sed -n 's/^EXPORT.//p' test/sim/exports.def 2>/dev/null | sed 's/,.*/;/')

# What a library of the box is compiled from: all its files as one unit where that is quick, and where their
# names allow it, else each by itself. Clang wants NVML's to say that they are exported before they are there.
ONE_UNIT_EACH = engine driver nccl cupti cudart $(if $(findstring clang,$(CXX)),,nvml)
AS_ONE_UNIT = $(if $(filter yes,$(QUICK)),$(filter $(ONE_UNIT_EACH),$(1)))
sim_objects = $(if $(call AS_ONE_UNIT,$(1)),$(OBJ)/test/sim/$(1)/all.o,$(call sim_files,$(1)))
sim_files   = $(call objects,$(call sources,test/sim/$(1)))
.PRECIOUS: $(OBJ)/test/sim/%/all.cpp
$(OBJ)/test/sim/%/all.cpp: $(OBJ)/test/sim/%.list
	@mkdir -p $(@D)
	@printf '#include "%s"\n' $(call sources,test/sim/$*) >$@
$(OBJ)/test/sim/%/all.o: $(OBJ)/test/sim/%/all.cpp $(BUILD)/compile.flags
	@echo "  CXX    test/sim/$* (its files as one)$(counted)"
	@$(COMPILE) $(PRECOMPILED) -fvisibility=$(VISIBILITY) -MMD -MP -c $< -o $@

# sim_library(folder, file, plain name, libraries of the box it links, what it exports)
define sim_library
ifneq ($(call sources,test/sim/$(1)),)
SIM_LIBRARIES += $(SIM)/$(2)
OBJECTS       += $(call sim_objects,$(1))
all: $(SIM)/$(2)
$(call stamp,$(OBJ)/test/sim/$(1).list,$(call sources,test/sim/$(1)))
$(call stamp,$(OBJ)/test/sim/$(1).map,{ global: $(5) local: *; };)
$(SIM)/$(2): $(call sim_objects,$(1)) $(FLOOR) $(OBJ)/test/sim/$(1).list $(BUILD)/link.flags \
             $(filter $(addprefix $(SIM)/,$(4)),$(SIM_LIBRARIES)) $(call map,$(1))
	@mkdir -p $$(@D)
	@echo "  LINK   $$@"
	@$(LINK) -shared $(NO_HOLES) -Wl,-soname,$(2) -Wl,-rpath,'$$$$ORIGIN' -o $$@ \
	    -Wl,--version-script=$(call map,$(1)) $(call sim_objects,$(1)) \
	    $(ON_OLD_CXX) -L$(SIM) $(addprefix -l:,$(filter $(4),$(notdir $(SIM_LIBRARIES)))) -ldl
	@$(if $(3),ln -sf $(2) $(SIM)/$(3))
endif
endef
map = $(or $(wildcard test/sim/$(1)/exports.map),$(OBJ)/test/sim/$(1).map)
$(eval $(call sim_library,engine,libgpusim.so,,,$(ENGINE_NAMES)))
$(eval $(call sim_library,driver,libcuda.so.1,libcuda.so,libgpusim.so,$(DRIVER_NAMES)))
$(eval $(call sim_library,nccl,libnccl.so.2,libnccl.so,libgpusim.so,nccl*; pnccl*;))
$(eval $(call sim_library,cublaslt,libcublasLt.so.12,libcublasLt.so,libgpusim.so,))
$(eval $(call sim_library,cublas,libcublas.so.12,libcublas.so,libcublasLt.so.12,))
$(eval $(call sim_library,cupti,libcupti.so.13,libcupti.so,libgpusim.so,cupti*;))
$(eval $(call sim_library,nvml,libnvidia-ml.so.1,libnvidia-ml.so,libgpusim.so,nvml*;))
$(eval $(call sim_library,cudart,libcudart.so.13,libcudart.so,,cuda*; __cuda*;))

# The driver behind a loader, as on WSL2: two/ comes before the others in the loader's path.
SIM_LOADER    := $(call sim_files,loader)
TWO           := $(if $(SIM_LOADER),$(addprefix $(SIM)/two/,libcuda.so.1 libcuda_behind.so.1))
OBJECTS       += $(SIM_LOADER)
all tests: $(TWO)
$(SIM)/two/libcuda.so.1: $(SIM_LOADER)
$(SIM)/two/libcuda_behind.so.1: $(call sim_objects,driver)
$(SIM)/two/libcuda.so.1 $(SIM)/two/libcuda_behind.so.1: $(SIM)/libgpusim.so $(OBJ)/test/sim/driver.map \
                                                        $(FLOOR) $(BUILD)/link.flags
	@mkdir -p $(@D)
	@echo "  LINK   $@"
	@$(LINK) -shared $(NO_HOLES) -Wl,-soname,$(@F) -Wl,-rpath,'$$ORIGIN:$$ORIGIN/..' -o $@ \
	    -Wl,--version-script=$(OBJ)/test/sim/driver.map $(filter %.o,$^) $(ON_OLD_CXX) \
	    -L$(SIM) -l:libgpusim.so -ldl
