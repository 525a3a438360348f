# Run by ctest with SERVER, PROGRAM, NM: the server's program links nothing that trains, and the
# same search finds it in a program that does.
function(find_training program result)
  execute_process(COMMAND ${NM} -C ${program} OUTPUT_VARIABLE symbols COMMAND_ERROR_IS_FATAL ANY)
  string(REGEX MATCH "tacet::(data|models|training)::|dnnl" found "${symbols}")
  set(${result} "${found}" PARENT_SCOPE)
endfunction()

find_training(${SERVER} in_server)
if(in_server)
  message(FATAL_ERROR "${SERVER} contains ${in_server}")
endif()
find_training(${PROGRAM} in_program)
if(NOT in_program)
  message(FATAL_ERROR "the search finds nothing in ${PROGRAM}, which trains")
endif()
