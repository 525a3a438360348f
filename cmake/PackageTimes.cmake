# Run by cpack between the installation into its staging folder and the packing: gives every file the
# time of the source, so that two builds pack the same bytes.
execute_process(COMMAND ${CMAKE_CURRENT_LIST_DIR}/../tools/source_date.sh OUTPUT_VARIABLE seconds
                OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
# cpack takes the times of the archives themselves from here.
set(ENV{SOURCE_DATE_EPOCH} ${seconds})
execute_process(COMMAND find ${CPACK_TEMPORARY_INSTALL_DIRECTORY}
                        -exec touch --no-dereference --date=@${seconds} {} +
                COMMAND_ERROR_IS_FATAL ANY)
