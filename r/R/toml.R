# Values of a query file as TOML 1.0 writes them.

# The shortest of 15 to 17 significant digits that reads as the same number.
number_text <- function(x) {
  text <- sprintf("%.15g", x)
  finite <- which(is.finite(x))
  for (digits in 16:17) {
    other <- finite[as.numeric(text[finite]) != x[finite]]
    text[other] <- sprintf("%.*g", digits, x[other])
  }
  text
}

# A basic string: quotes, backslashes and control characters are escaped.
toml_string <- function(text) {
  text <- utf8_text(text)
  text <- gsub("\\", "\\\\", text, fixed = TRUE)
  text <- gsub("\"", "\\\"", text, fixed = TRUE)
  for (code in c(1:31, 127)) {
    text <- gsub(intToUtf8(code), sprintf("\\u%04x", code), text, fixed = TRUE)
  }
  paste0("\"", text, "\"")
}

# The same texts in UTF-8. Bytes that are UTF-8 already stay, also in the C locale, for which all
# bytes beyond ASCII are strange.
utf8_text <- function(text) {
  is_utf8 <- Encoding(text) == "unknown" & validUTF8(text)
  text[!is_utf8] <- enc2utf8(text[!is_utf8])
  Encoding(text[is_utf8]) <- "UTF-8"
  broken <- text[!validUTF8(text)]
  if (length(broken)) {
    stop("a text is not valid UTF-8: ", encodeString(broken[1]), ": convert it with iconv()",
         call. = FALSE)
  }
  text
}

# `value`: a text, a number or a truth value (1 or 0, as in tables); a list is an array, or with
# names an inline table.
toml_value <- function(value, key) {
  if (is.list(value)) {
    parts <- vapply(value, toml_value, "", key = key)
    if (is.null(names(value))) return(paste0("[", paste(parts, collapse = ", "), "]"))
    return(paste0("{", paste(names(value), "=", parts, collapse = ", "), "}"))
  }
  if (length(value) == 1 && !is.na(value)) {
    if (is.character(value)) return(toml_string(value))
    if (is.logical(value)) return(if (value) "1" else "0")
    if (is.numeric(value) && is.finite(value)) return(number_text(value))
  }
  stop(sprintf("%s is %s: give one text or finite number", key, deparse(value)[1]), call. = FALSE)
}

# One table of the file: its title and the keys that were given.
toml_table <- function(title, keys) {
  keys <- keys[!vapply(keys, is.null, NA)]
  lines <- vapply(names(keys), function(key) paste(key, "=", toml_value(keys[[key]], key)), "")
  paste0(paste(c(title, lines), collapse = "\n"), "\n")
}
