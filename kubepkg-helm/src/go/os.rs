//! Errors of the file system in Go's words.

use std::fmt::Display;
use std::io;

/// An `os.PathError`: what was done, to which path, and the system's word for why not.
pub(crate) fn path_error(operation: &str, path: &dyn Display, error: &io::Error) -> String {
    format!("{operation} {path}: {}", reason(error))
}

/// The system's own word, as Go has it: without a number, and beginning in lower case.
pub(crate) fn reason(error: &io::Error) -> String {
    let text = error.to_string();
    let text = text.split(" (os error").next().unwrap_or_default();
    let mut letters = text.chars();
    match letters.next() {
        Some(first) if error.raw_os_error().is_some() => {
            first.to_lowercase().chain(letters).collect()
        }
        _ => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::path_error;

    #[test]
    fn a_missing_file_is_named_as_go_names_it() {
        // os.Open("/no/such") of Go 1.26.
        let error = std::fs::File::open("/no/such").unwrap_err();
        let text = path_error("open", &"/no/such", &error);
        assert_eq!(text, "open /no/such: no such file or directory");
    }
}
