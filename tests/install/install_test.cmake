# Run by ctest with BUILD, SOURCE, SCRATCH, COMPILER, GENERATOR and EVERY: installs into a scratch
# folder, then is a user of what lies there. Of the public headers it compiles every EVERYth alone.
cmake_minimum_required(VERSION 3.25)

function(run)
  execute_process(COMMAND ${ARGV} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

file(REMOVE_RECURSE ${SCRATCH})
run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${SCRATCH}/prefix)

# The public headers and no others. Each includes the standard library, Abseil's status, and other
# public headers.
file(GLOB_RECURSE headers RELATIVE ${SCRATCH}/prefix/include ${SCRATCH}/prefix/include/*)
file(GLOB public RELATIVE ${SOURCE}/include ${SOURCE}/include/tacet/*.h)
list(SORT headers)
list(SORT public)
if(NOT headers STREQUAL public)
  message(FATAL_ERROR "installed are ${headers}, include/ holds ${public}")
endif()
list(LENGTH headers count_of_headers)
# Sixteen of secure aggregation and its guarantees, and five of whole processes (tacet::live).
if(count_of_headers GREATER 21)
  message(FATAL_ERROR
          "the public interface has ${count_of_headers} headers, at most 21 were wanted")
endif()
foreach(header IN LISTS headers)
  file(STRINGS ${SCRATCH}/prefix/include/${header} lines REGEX "^[ \t]*#[ \t]*include")
  foreach(line IN LISTS lines)
    if(line MATCHES "^#include \"(tacet/[a-z_]+\\.h)\"$")
      if(NOT CMAKE_MATCH_1 IN_LIST headers)
        message(FATAL_ERROR "${header} includes ${CMAKE_MATCH_1}, which is not installed")
      endif()
    elseif(NOT line MATCHES "^#include (<[a-z_]+>|\"absl/status/status(or)?\\.h\")$")
      message(FATAL_ERROR "${header}: not for a public header: ${line}")
    endif()
  endforeach()
endforeach()

# The example of docs/library.md is part of the program that is built below, line for line.
file(READ ${SOURCE}/docs/library.md page)
file(READ ${SOURCE}/examples/secure_sum.cc program)
if(NOT page MATCHES "\n```cpp\n([^`]*)```")
  message(FATAL_ERROR "docs/library.md has no C++ example")
endif()
set(example "${CMAKE_MATCH_1}")
string(REGEX MATCHALL "\n" lines "${example}")
list(LENGTH lines count)
if(count GREATER 15)
  message(FATAL_ERROR "the example of docs/library.md has ${count} lines, at most 15 were wanted")
endif()
string(REGEX REPLACE "\n +" "\n" program "${program}")
string(REGEX REPLACE "\n +" "\n" example "\n${example}")
string(FIND "${program}" "${example}" place)
if(place EQUAL -1)
  message(FATAL_ERROR "the example of docs/library.md is not in examples/secure_sum.cc")
endif()

# A copy of the examples: nothing of the repository around them can be found from there. They are
# linked once with each form of the library.
file(COPY ${SOURCE}/examples DESTINATION ${SCRATCH})
foreach(library IN ITEMS tacet::tacet tacet::shared)
  string(MAKE_C_IDENTIFIER ${library} name)
  run(${CMAKE_COMMAND} -S ${SCRATCH}/examples -B ${SCRATCH}/${name} -G ${GENERATOR}
      -DCMAKE_CXX_COMPILER=${COMPILER} -DCMAKE_PREFIX_PATH=${SCRATCH}/prefix
      -DCMAKE_BUILD_TYPE=Release -DTACET_LIBRARY=${library})
  run(${CMAKE_COMMAND} --build ${SCRATCH}/${name})
  run(${CMAKE_CTEST_COMMAND} --test-dir ${SCRATCH}/${name} --no-tests=error --output-on-failure)
endforeach()

# The programs that docs/library.md names, against the installed archive tacet::live.
file(GLOB live ${SCRATCH}/prefix/lib*/libtacet_live.a ${SCRATCH}/prefix/lib/*/libtacet_live.a)
if(live)
  foreach(most IN ITEMS join_federation=60 ask_query=40)
    string(REPLACE "=" ";" most ${most})
    list(GET most 0 example)
    list(GET most 1 limit)
    file(READ ${SOURCE}/examples/${example}.cc text)
    string(REGEX MATCHALL "\n" lines "${text}")
    list(LENGTH lines count)
    if(count GREATER limit)
      message(FATAL_ERROR "examples/${example}.cc has ${count} lines, at most ${limit} were wanted")
    endif()
  endforeach()
  file(COPY ${SOURCE}/tests/install/serve_for_test.cc DESTINATION ${SCRATCH}/serve)
  file(WRITE ${SCRATCH}/serve/CMakeLists.txt "cmake_minimum_required(VERSION 3.25)
project(serve LANGUAGES CXX)
find_package(tacet 0.3 REQUIRED COMPONENTS live)
add_executable(serve_for_test serve_for_test.cc)
target_link_libraries(serve_for_test PRIVATE tacet::live)
")
  run(${CMAKE_COMMAND} -S ${SCRATCH}/serve -B ${SCRATCH}/serve/build -G ${GENERATOR}
      -DCMAKE_CXX_COMPILER=${COMPILER} -DCMAKE_PREFIX_PATH=${SCRATCH}/prefix)
  run(${CMAKE_COMMAND} --build ${SCRATCH}/serve/build)
  run(${SOURCE}/tests/install/live_example_test.sh ${SCRATCH}/prefix/bin/tacet
      ${SCRATCH}/tacet__tacet/join_federation ${SCRATCH}/serve/build/serve_for_test
      ${SCRATCH}/federation)
endif()

# Headers alone, each with nothing of ours but the other installed headers.
set(sources)
math(EXPR last "${count_of_headers} - 1")
foreach(place RANGE 0 ${last} ${EVERY})
  list(GET headers ${place} header)
  string(MAKE_C_IDENTIFIER ${header} name)
  file(WRITE ${SCRATCH}/alone/${name}.cc "#include \"${header}\"\n")
  list(APPEND sources ${name}.cc)
endforeach()
list(JOIN sources " " sources)
file(WRITE ${SCRATCH}/alone/CMakeLists.txt "cmake_minimum_required(VERSION 3.25)
project(alone LANGUAGES CXX)
find_package(tacet 0.3 REQUIRED)
add_library(alone OBJECT ${sources})
target_link_libraries(alone PRIVATE tacet::tacet)
target_compile_options(alone PRIVATE -Wall -Wextra -Wshadow -Wconversion -Wno-sign-conversion -Werror)
")
run(${CMAKE_COMMAND} -S ${SCRATCH}/alone -B ${SCRATCH}/alone/build -G ${GENERATOR}
    -DCMAKE_CXX_COMPILER=${COMPILER} -DCMAKE_PREFIX_PATH=${SCRATCH}/prefix)
run(${CMAKE_COMMAND} --build ${SCRATCH}/alone/build)

run(${SCRATCH}/prefix/bin/tacet --help)
