# Tests of the package: each file of tests/, the types and the style.
set(environment PYTHONPATH=${CMAKE_CURRENT_BINARY_DIR} PYTHONDONTWRITEBYTECODE=1
    TACET_PROGRAM=$<TARGET_FILE:tacet>
    TACET_ALLOCATION_COUNTER=$<TARGET_FILE:tacet_allocation_counter>)
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
                 --ignore-glob=${CMAKE_CURRENT_BINARY_DIR}/tacet/torch*.py
                 --ignore ${CMAKE_CURRENT_BINARY_DIR}/tacet/flower.py
                 --ignore ${CMAKE_CURRENT_BINARY_DIR}/tacet/nvflare.py
                 ${CMAKE_CURRENT_BINARY_DIR}/tacet)
add_test(NAME python.types
         COMMAND ${Python_EXECUTABLE} -m mypy --config-file ${PROJECT_SOURCE_DIR}/pyproject.toml --cache-dir ${CMAKE_CURRENT_BINARY_DIR}/mypy
                 -p tacet -p tacet_programs)
add_test(NAME python.style
         COMMAND ${Python_EXECUTABLE} -m ruff check --no-cache ${CMAKE_CURRENT_SOURCE_DIR})
list(APPEND python_tests python.doctests python.types python.style)
set_tests_properties(${python_tests} PROPERTIES LABELS integration TIMEOUT 600
                     WORKING_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR} ENVIRONMENT "${environment}")
# PyTorch is large: its test runs where Debian's Python has it (package python3-torch).
find_program(TACET_DEBIAN_PYTHON python3 PATHS /usr/bin NO_DEFAULT_PATH)
if(TACET_DEBIAN_PYTHON)
  execute_process(COMMAND ${TACET_DEBIAN_PYTHON} -c "import torch, sys; assert sys.version_info[:2] == (${Python_VERSION_MAJOR}, ${Python_VERSION_MINOR})"
                  RESULT_VARIABLE without_torch OUTPUT_QUIET ERROR_QUIET)
  if(without_torch EQUAL 0)
    set(hospitals ${PROJECT_SOURCE_DIR}/../shared/data/heart-disease)
    set(tests torch torch_adapters torch_canary torch_fit torch_gradients torch_layers torch_live
        torch_modules torch_units)
    if(EXISTS ${hospitals}/processed.va.data)
      list(APPEND tests torch_hospitals)
    endif()
    foreach(test IN LISTS tests)
      add_test(NAME python.${test}
               COMMAND ${TACET_DEBIAN_PYTHON} -m unittest discover -s ${CMAKE_CURRENT_SOURCE_DIR}/tests -p ${test}_test.py)
      set_tests_properties(python.${test} PROPERTIES LABELS integration TIMEOUT 600
                           WORKING_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}
                           ENVIRONMENT "${environment};TACET_HEART_DISEASE=${hospitals};OMP_NUM_THREADS=1")
    endforeach()
  endif()
endif()
# Frameworks are large: their tests run where `make python-frameworks` has made their environment.
set(TACET_FRAMEWORKS_PYTHON ${PROJECT_SOURCE_DIR}/build/frameworks/bin/python
    CACHE FILEPATH "Python with the packages of python/requirements/frameworks.txt")
foreach(framework flower=flwr nvflare=nvflare mpi_executor=mpi4py.futures dask_executor=distributed)
  string(REGEX MATCH "^(.*)=(.*)$" pair ${framework})
  set(test_name ${CMAKE_MATCH_1})
  set(package ${CMAKE_MATCH_2})
  execute_process(COMMAND ${TACET_FRAMEWORKS_PYTHON} -c "import ${package}, sys; assert sys.version_info[:2] == (${Python_VERSION_MAJOR}, ${Python_VERSION_MINOR})"
                  RESULT_VARIABLE without OUTPUT_QUIET ERROR_QUIET)
  if(without EQUAL 0)
    add_test(NAME python.${test_name}
             COMMAND ${TACET_FRAMEWORKS_PYTHON} -m pytest -q -p no:cacheprovider
                     ${CMAKE_CURRENT_SOURCE_DIR}/tests/${test_name}_test.py)
    set_tests_properties(python.${test_name} PROPERTIES LABELS integration TIMEOUT 600
                         WORKING_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR} ENVIRONMENT "${environment}")
  endif()
endforeach()
execute_process(COMMAND ${TACET_FRAMEWORKS_PYTHON} -c "import mlflow, tensorboard, tensorboardX"
                RESULT_VARIABLE without OUTPUT_QUIET ERROR_QUIET)
if(without EQUAL 0)
  add_test(NAME python.trackers
           COMMAND ${TACET_FRAMEWORKS_PYTHON} -m pytest -q -p no:cacheprovider
                   ${CMAKE_CURRENT_SOURCE_DIR}/tests/trackers_test.py)
  set_tests_properties(python.trackers PROPERTIES LABELS long TIMEOUT 600
                       WORKING_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR} ENVIRONMENT "${environment}")
endif()
if(TEST python.flower AND TEST python.nvflare)
  # The example apps, and jobs on real servers: minutes.
  foreach(test flower_apps nvflare_apps flower_deployment nvflare_deployment)
    add_test(NAME python.${test}
             COMMAND ${TACET_FRAMEWORKS_PYTHON} -m pytest -q -p no:cacheprovider
                     ${CMAKE_CURRENT_SOURCE_DIR}/tests/${test}_test.py)
    set_tests_properties(python.${test} PROPERTIES LABELS long TIMEOUT 1800
                         WORKING_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR} ENVIRONMENT "${environment}")
  endforeach()
endif()
# Notebooks.
foreach(notebook first-steps hospitals)
  add_test(NAME notebook.${notebook}
           COMMAND ${Python_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/tests/run_notebook.py
                   ${PROJECT_SOURCE_DIR}/examples/notebooks/${notebook}.ipynb)
  set_tests_properties(notebook.${notebook} PROPERTIES LABELS integration TIMEOUT 600 ENVIRONMENT "${environment}")
endforeach()
# The guides run with the package that this build made.
cmake_path(GET Python_EXECUTABLE PARENT_PATH python_folder)
foreach(guide python frameworks)
  add_test(NAME guide.${guide}
           COMMAND ${Python_EXECUTABLE} ${PROJECT_SOURCE_DIR}/tools/run_guide.py
                   --program $<TARGET_FILE:tacet> ${PROJECT_SOURCE_DIR}/docs/guide/${guide}.md)
  set_tests_properties(guide.${guide} PROPERTIES LABELS integration TIMEOUT 600
                       ENVIRONMENT "PYTHONPATH=${CMAKE_CURRENT_BINARY_DIR}"
                       ENVIRONMENT_MODIFICATION "PATH=path_list_prepend:${python_folder}")
endforeach()
# An installed copy has all that an import needs, and nothing of the build folder.
add_test(NAME python.installed
         COMMAND ${CMAKE_COMMAND} -DBUILD=${PROJECT_BINARY_DIR} -DPYTHON=${Python_EXECUTABLE}
                 -DFOLDER=${CMAKE_CURRENT_BINARY_DIR}/installed
                 -P ${CMAKE_CURRENT_SOURCE_DIR}/tests/installed_test.cmake)
set_tests_properties(python.installed PROPERTIES LABELS integration TIMEOUT 600)
