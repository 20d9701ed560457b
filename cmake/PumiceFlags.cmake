# Compiler and linker flags as interface targets: nothing here is global.
#   pumice_flags  warnings, hardening, sanitizers; every target links to it.
include(CheckCCompilerFlag)
include(CheckPIESupported)
check_pie_supported()
set(CMAKE_POSITION_INDEPENDENT_CODE ON)

add_library(pumice_flags INTERFACE)
target_compile_definitions(pumice_flags INTERFACE _GNU_SOURCE PUMICE_VERSION="${PROJECT_VERSION}")
target_include_directories(pumice_flags INTERFACE ${CMAKE_SOURCE_DIR} ${CMAKE_SOURCE_DIR}/common)

function(pumice_add_flag flag)
  string(MAKE_C_IDENTIFIER "HAVE${flag}" var)
  check_c_compiler_flag("${flag}" ${var})
  if(${var})
    target_compile_options(pumice_flags INTERFACE ${flag})
  endif()
endfunction()

foreach(flag
    -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wformat=2 -Wstrict-prototypes
    -Wmissing-prototypes -Wvla -Wundef -Wcast-qual -Wnull-dereference -Wduplicated-cond
    -Wduplicated-branches -Wlogical-op -Wwrite-strings -Wpointer-arith -Wimplicit-fallthrough)
  pumice_add_flag(${flag})
endforeach()
if(PUMICE_WERROR)
  target_compile_options(pumice_flags INTERFACE -Werror)
endif()

# The same file names whatever folder the tree lies in: builds are reproducible.
target_compile_options(pumice_flags INTERFACE -ffile-prefix-map=${CMAKE_SOURCE_DIR}/=)
pumice_add_flag(-fno-strict-overflow)
pumice_add_flag(-fno-delete-null-pointer-checks)

if(PUMICE_SANITIZE)
  target_compile_options(pumice_flags INTERFACE
    -fsanitize=${PUMICE_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(pumice_flags INTERFACE -fsanitize=${PUMICE_SANITIZE})
  # -Wnull-dereference reports paths that only the sanitizers' instrumentation creates.
  target_compile_options(pumice_flags INTERFACE -Wno-null-dereference)
else()
  foreach(flag
      -fstack-protector-strong -fstack-clash-protection -ftrivial-auto-var-init=zero
      -fzero-call-used-regs=used-gpr -fcf-protection=full -fstrict-flex-arrays=3)
    pumice_add_flag(${flag})
  endforeach()
  if(NOT CMAKE_BUILD_TYPE STREQUAL "Debug")
    target_compile_options(pumice_flags INTERFACE -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3)
  endif()
endif()
if(PUMICE_FUZZ)
  # Coverage for libFuzzer in all code; only the targets themselves link its main().
  target_compile_options(pumice_flags INTERFACE -fsanitize=fuzzer-no-link)
  target_link_options(pumice_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()
target_link_options(pumice_flags INTERFACE
  -Wl,-z,relro,-z,now,-z,noexecstack,-z,separate-code -Wl,--as-needed)

# pumice_module(NAME sources...): a static library of one layer.
function(pumice_module name)
  add_library(${name} STATIC ${ARGN})
  target_link_libraries(${name} PUBLIC pumice_flags)
endfunction()
