# The program tacet: where it is, and a run of it.

tacet_program <- function() {
  path <- getOption("tacet.program", Sys.which("tacet")[[1]])
  if (!is.character(path) || length(path) != 1 || file.access(path, 1) != 0 || dir.exists(path)) {
    stop(
      sprintf("there is no program \"%s\": ", path),
      "install tacet, or name its path with options(tacet.program = \"...\")",
      call. = FALSE
    )
  }
  normalizePath(path)
}

# Flags as `--name=value`. TRUE is a flag without value; NULL and FALSE are none.
flags_of <- function(options) {
  options <- options[!vapply(options, function(each) is.null(each) || isFALSE(each), NA)]
  if (length(options) && (is.null(names(options)) || any(names(options) == ""))) {
    stop("every option has the name of a flag, as in key_file = \"site.key\"", call. = FALSE)
  }
  vapply(names(options), function(name) {
    flag <- paste0("--", gsub("_", "-", name, fixed = TRUE))
    value <- options[[name]]
    if (isTRUE(value)) return(flag)
    if (!is.atomic(value) || length(value) != 1 || is.na(value)) {
      stop(name, " has to be one text or number", call. = FALSE)
    }
    paste0(flag, "=", if (is.numeric(value)) number_text(value) else value)
  }, "", USE.NAMES = FALSE)
}

# Runs the program, with its errors as conditions and its other remarks as warnings.
# `shown`: whether its standard output goes to the console.
run_program <- function(arguments, folder, shown = FALSE) {
  output <- if (shown) "" else file.path(folder, "output")
  errors <- file.path(folder, "errors")
  # The shell gets the bytes unchanged: R would translate texts that it knows to be UTF-8.
  arguments <- shQuote(utf8_text(arguments), type = "sh")
  Encoding(arguments) <- "unknown"
  status <- suppressWarnings(
    system2(tacet_program(), arguments, stdout = output, stderr = errors)
  )
  lines <- readLines(errors, encoding = "UTF-8", warn = FALSE)
  said <- which(startsWith(lines, "tacet: "))
  lines <- sub("^tacet: ", "", lines)
  if (status == 0) {
    for (place in said) warning(lines[place], call. = FALSE)
    return(invisible())
  }
  # The last remark is the error, with all lines that follow it.
  first <- if (length(said)) said[length(said)] else 1
  for (place in setdiff(said, first)) warning(lines[place], call. = FALSE)
  text <- paste(lines[seq_along(lines) >= first], collapse = "\n")
  if (text == "") text <- sprintf("tacet ended with status %d", status)
  classes <- c(if (status == 3) "tacet_incomplete", "tacet_error", "error", "condition")
  stop(structure(list(message = text, call = NULL, status = status), class = classes))
}
