# One interface target with the flags every Pounce target is compiled with.
add_library(pounce_options INTERFACE)
target_include_directories(pounce_options INTERFACE
  ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include)
target_compile_options(pounce_options INTERFACE
  -Wall -Wextra -Wpedantic -Werror -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual
  # GCC 12 warns of overlap inside std::string's own operator+ (GCC bug 105329).
  $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>
  # Contraction of a*b+c would make results depend on the compiler's mood.
  -ffp-contract=off
  -fvisibility=hidden)
target_compile_definitions(pounce_options INTERFACE
  POUNCE_VERSION="${PROJECT_VERSION}"
  $<$<BOOL:${POUNCE_POISON}>:POUNCE_POISON=1>)

if(POUNCE_SANITIZE)
  target_compile_options(pounce_options INTERFACE
    -fsanitize=${POUNCE_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all
    # GCC sees uninitialised variants and optionals behind its own instrumentation (GCC bug 105562).
    $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
  target_link_options(pounce_options INTERFACE -fsanitize=${POUNCE_SANITIZE})
endif()

find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE_PROGRAM})
endif()
