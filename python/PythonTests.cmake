# Tests of the package: each file of tests/, the types and the style.
set(environment PYTHONPATH=${CMAKE_CURRENT_BINARY_DIR} PYTHONDONTWRITEBYTECODE=1
    TACET_PROGRAM=$<TARGET_FILE:tacet>)
file(GLOB test_files CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/tests/test_*.py)
foreach(file IN LISTS test_files)
  cmake_path(GET file STEM name)
  string(REGEX REPLACE "^test_" "" name ${name})
  add_test(NAME python.${name}
           COMMAND ${Python_EXECUTABLE} -m pytest -q -p no:cacheprovider ${file})
  list(APPEND python_tests python.${name})
endforeach()
add_test(NAME python.doctests
         COMMAND ${Python_EXECUTABLE} -m pytest -q -p no:cacheprovider --doctest-modules
                 ${CMAKE_CURRENT_BINARY_DIR}/tacet)
add_test(NAME python.types
         COMMAND ${Python_EXECUTABLE} -m mypy --strict --cache-dir ${CMAKE_CURRENT_BINARY_DIR}/mypy
                 -p tacet)
add_test(NAME python.style
         COMMAND ${Python_EXECUTABLE} -m ruff check --no-cache ${CMAKE_CURRENT_SOURCE_DIR})
list(APPEND python_tests python.doctests python.types python.style)
set_tests_properties(${python_tests} PROPERTIES LABELS integration TIMEOUT 600
                     WORKING_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR} ENVIRONMENT "${environment}")
# The guide runs with the package that this build made.
cmake_path(GET Python_EXECUTABLE PARENT_PATH python_folder)
add_test(NAME guide.python
         COMMAND ${Python_EXECUTABLE} ${PROJECT_SOURCE_DIR}/tools/run_guide.py
                 --program $<TARGET_FILE:tacet> ${PROJECT_SOURCE_DIR}/docs/guide/python.md)
set_tests_properties(guide.python PROPERTIES LABELS integration TIMEOUT 150
                     ENVIRONMENT "PYTHONPATH=${CMAKE_CURRENT_BINARY_DIR}"
                     ENVIRONMENT_MODIFICATION "PATH=path_list_prepend:${python_folder}")
# An installed copy has all that an import needs, and nothing of the build folder.
add_test(NAME python.installed
         COMMAND ${CMAKE_COMMAND} -DBUILD=${PROJECT_BINARY_DIR} -DPYTHON=${Python_EXECUTABLE}
                 -DFOLDER=${CMAKE_CURRENT_BINARY_DIR}/installed
                 -P ${CMAKE_CURRENT_SOURCE_DIR}/tests/installed_test.cmake)
set_tests_properties(python.installed PROPERTIES LABELS integration TIMEOUT 150)
