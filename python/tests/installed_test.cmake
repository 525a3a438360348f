# Installs the component `python` into FOLDER and imports it from there. The import must not load
# NumPy, which takes longer than all the rest.
file(REMOVE_RECURSE ${FOLDER})
execute_process(COMMAND ${CMAKE_COMMAND} --install ${BUILD} --component python --prefix ${FOLDER}
                COMMAND_ERROR_IS_FATAL ANY OUTPUT_QUIET)
file(GLOB pages ${BUILD}/python/tacet/*.py ${BUILD}/python/tacet/py.typed)
file(COPY ${pages} DESTINATION ${FOLDER}/tacet)
execute_process(
  COMMAND ${CMAKE_COMMAND} -E env PYTHONPATH=${FOLDER} PYTHONDONTWRITEBYTECODE=1 ${PYTHON} -P -c
          "import sys, tacet; assert tacet.__file__.startswith(sys.argv[1]); assert 'numpy' not in sys.modules; print(tacet.__version__)"
          ${FOLDER}
  COMMAND_ERROR_IS_FATAL ANY)
file(STRINGS ${FOLDER}/tacet/_core.pyi stub REGEX "class Client")
if(NOT stub)
  message(FATAL_ERROR "the stub of the extension module is not installed")
endif()
