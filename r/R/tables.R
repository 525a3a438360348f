# Tables of sites as the files that the program reads.

# A folder that its owner alone can enter.
private_folder <- function() {
  folder <- tempfile("tacet-")
  if (!dir.create(folder, mode = "0700")) {
    stop("cannot make the folder ", folder, call. = FALSE)
  }
  folder
}

# Without `force`, with which R would give every file behind a link the mode 0777.
remove_folder <- function(folder) unlink(folder, recursive = TRUE)

# The fields of a column, as CSV quotes them. A missing value is an empty field.
field_texts <- function(values, column, site) {
  if (inherits(values, "factor")) values <- as.character(values)
  if (inherits(values, "Date")) values <- format(values, "%Y-%m-%d")
  if (inherits(values, "POSIXt")) values <- format(values, "%Y-%m-%d %H:%M:%S")
  if (is.logical(values)) values <- as.integer(values)
  plain_vector <- !is.object(values) && is.null(dim(values))
  if (plain_vector && is.character(values)) {
    fields <- paste0("\"", gsub("\"", "\"\"", utf8_text(values), fixed = TRUE), "\"")
  } else if (plain_vector && is.numeric(values)) {
    fields <- number_text(values)
  } else {
    stop(sprintf("column \"%s\" of site \"%s\" is of class %s: make it numbers, texts, dates or ",
                 column, site, paste(class(values), collapse = "/")),
         "truth values, or leave it out", call. = FALSE)
  }
  fields[is.na(values)] <- ""
  fields
}

# The last column numbers the rows. The program leaves it out; without it a row in which all is
# missing would be a blank line, which does not count.
write_table <- function(table, path, site) {
  fields <- Map(field_texts, table, names(table), site)
  fields[["...1"]] <- as.character(seq_len(nrow(table)))
  names <- field_texts(c(names(table), "...1"), "names", site)
  write_utf8(c("sep=,", paste(names, collapse = ","), do.call(paste, c(unname(fields), sep = ","))),
             path)
}

# The path of the tables for `--data`: as it is, or files below `folder`, one for each site.
tables_path <- function(data, folder) {
  if (is.character(data) && length(data) == 1 && is.null(names(data))) return(existing_path(data))
  folder <- file.path(folder, "R")
  dir.create(folder, mode = "0700")
  if (is.data.frame(data)) {
    path <- file.path(folder, "R.csv")
    write_table(data, path, "R")
    return(path)
  }
  data <- named_files(data)
  if (!length(data) || is.null(names(data))) {
    stop("data is no table: give a path, or list(name = table) with one table for each site",
         call. = FALSE)
  }
  if (anyDuplicated(names(data))) {
    stop(sprintf("two tables are called \"%s\"", names(data)[anyDuplicated(names(data))]),
         call. = FALSE)
  }
  for (site in names(data)) add_site(data[[site]], site, folder)
  folder
}

# Files without names are called as they are, without their suffix.
named_files <- function(data) {
  if (is.character(data) && is.null(names(data))) {
    names(data) <- tools::file_path_sans_ext(basename(data))
  }
  data
}

# A data frame is written; of a file there is a link, so that nothing is copied.
add_site <- function(table, site, folder) {
  if (is.na(site) || site == "" || grepl("^[.]|/", site)) {
    stop(sprintf("\"%s\" cannot name a site's file: choose a name without / that begins ", site),
         "with another character than a point", call. = FALSE)
  }
  if (is.data.frame(table)) {
    write_table(table, file.path(folder, paste0(site, ".csv")), site)
  } else if (is.character(table) && length(table) == 1) {
    path <- existing_path(table)
    link <- file.path(folder, paste0(site, ".", tools::file_ext(path)))
    if (!file.symlink(path, link)) stop("cannot link to ", path, call. = FALSE)
  } else {
    stop(sprintf("the table of site \"%s\" is of class %s: give a data frame or a path", site,
                 paste(class(table), collapse = "/")), call. = FALSE)
  }
}

existing_path <- function(path) {
  if (!file.exists(path)) stop("there is no file or folder ", path, call. = FALSE)
  normalizePath(path)
}
