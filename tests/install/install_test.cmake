# Run by ctest with BUILD, SOURCE, SCRATCH, COMPILER and GENERATOR.
function(run)
  execute_process(COMMAND ${ARGV} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

file(REMOVE_RECURSE ${SCRATCH})
run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${SCRATCH}/prefix)
# A copy: nothing of the repository around examples/ can be found from there.
file(COPY ${SOURCE}/examples DESTINATION ${SCRATCH})
run(${CMAKE_COMMAND} -S ${SCRATCH}/examples -B ${SCRATCH}/build -G ${GENERATOR}
    -DCMAKE_CXX_COMPILER=${COMPILER} -DCMAKE_PREFIX_PATH=${SCRATCH}/prefix
    -DCMAKE_BUILD_TYPE=Release)
run(${CMAKE_COMMAND} --build ${SCRATCH}/build)
run(${CMAKE_CTEST_COMMAND} --test-dir ${SCRATCH}/build --no-tests=error --output-on-failure)

# Installed headers include only what is installed.
file(GLOB_RECURSE headers ${SCRATCH}/prefix/include/*.h)
foreach(header IN LISTS headers)
  file(STRINGS ${header} lines REGEX "^#include \"tacet/")
  foreach(line IN LISTS lines)
    string(REGEX REPLACE "^#include \"([^\"]+)\".*" "\\1" included ${line})
    if(NOT EXISTS ${SCRATCH}/prefix/include/${included})
      message(FATAL_ERROR "${header} includes ${included}, which is not installed")
    endif()
  endforeach()
endforeach()

run(${SCRATCH}/prefix/bin/tacet --help)
