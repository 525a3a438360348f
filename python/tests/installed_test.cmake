# Installs the component `python` into FOLDER, and imports it and runs its programs from there. The
# import must not load NumPy, which takes longer than all the rest.
file(REMOVE_RECURSE ${FOLDER})
execute_process(COMMAND ${CMAKE_COMMAND} --install ${BUILD} --component python --prefix ${FOLDER}
                COMMAND_ERROR_IS_FATAL ANY OUTPUT_QUIET)
foreach(package tacet tacet_programs)
  file(GLOB pages ${BUILD}/python/${package}/*.py ${BUILD}/python/${package}/py.typed)
  file(COPY ${pages} DESTINATION ${FOLDER}/${package})
endforeach()
set(python ${CMAKE_COMMAND} -E env PYTHONPATH=${FOLDER} PYTHONDONTWRITEBYTECODE=1 ${PYTHON} -P -c)
execute_process(
  COMMAND ${python}
          "import sys, tacet; assert tacet.__file__.startswith(sys.argv[1]); assert 'numpy' not in sys.modules; print(tacet.__version__)"
          ${FOLDER}
  COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${python} "import tacet_programs; tacet_programs.tacet()" --version
                OUTPUT_VARIABLE version COMMAND_ERROR_IS_FATAL ANY)
if(NOT version MATCHES "^tacet [0-9]")
  message(FATAL_ERROR "the command tacet printed: ${version}")
endif()
file(STRINGS ${FOLDER}/tacet/_core.pyi stub REGEX "class Client")
if(NOT stub)
  message(FATAL_ERROR "the stub of the extension module is not installed")
endif()
