//! Go text/template, Go formatting and the Sprig functions.
