# Queries that the program answers: over all sites in one process, or as one site of a federation.

tacet_ask <- function(query, data, sites = NULL, out = NULL, threads = NULL,
                      insecure_seed = NULL) {
  folder <- private_folder()
  on.exit(remove_folder(folder))
  if (inherits(query, "tacet_query")) {
    path <- file.path(folder, "query.toml")
    tacet_write_query(query, path)
  } else if (is.character(query) && length(query) == 1) {
    path <- existing_path(query)
  } else {
    stop("query is neither a query nor a path: make it with tacet_query()", call. = FALSE)
  }
  tables <- tables_path(data, folder)
  if (!is.null(sites)) sites <- existing_path(sites)
  if (is.null(out)) out <- new_run()
  options <- list(
    data = tables, sites = sites, out = out, threads = threads, insecure_seed = insecure_seed,
    json = TRUE
  )
  run_program(c("statistics", path, flags_of(options)), folder)
  tacet_answers(out)
}

# A path below runs/, named by the time, that nobody has.
new_run <- function() {
  first <- file.path("runs", format(Sys.time(), "%Y%m%d-%H%M%S"))
  path <- first
  number <- 1
  while (file.exists(path)) {
    number <- number + 1
    path <- paste0(first, "-", number)
  }
  path
}

tacet_site <- function(home, server, data, ...) {
  folder <- private_folder()
  on.exit(remove_folder(folder))
  options <- list(home = home, server = server, data = tables_path(data, folder), ...)
  run_program(c("client", "run", flags_of(options)), folder, shown = TRUE)
  tacet_answers(file.path(home, "run"))
}
