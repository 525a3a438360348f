# Run as a script with INPUT, OUTPUT, HEADER, NAMESPACE and FUNCTION: writes a source file that
# defines `std::string_view FUNCTION()`, declared in HEADER, as the text of INPUT.
file(READ ${INPUT} text)
string(FIND "${text}" ")embedded\"" end)
if(NOT end EQUAL -1)
  message(FATAL_ERROR "${INPUT} holds the delimiter that would end it as a string literal")
endif()
file(WRITE ${OUTPUT} "#include \"${HEADER}\"\n\nnamespace ${NAMESPACE} {\n\n"
  "std::string_view ${FUNCTION}() {\n  return R\"embedded(" "${text}" ")embedded\";\n}\n\n"
  "}  // namespace ${NAMESPACE}\n")
