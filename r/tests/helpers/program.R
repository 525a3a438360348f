# Ends the test where there is no program to run. A build's tests have one, and say so.
if (Sys.which("tacet") == "") {
  stopifnot(Sys.getenv("TACET_PROGRAM_EXPECTED") == "")
  message("left out: there is no program tacet on the path")
  quit("no")
}
