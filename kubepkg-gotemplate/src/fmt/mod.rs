//! Go's `fmt`: `Printf`, `Print` and `Println` on template values.
//!
//! Verbs, flags, widths, precisions, argument indexes and the noise for mistakes
//! (`%!d(string=x)`, `%!v(BADINDEX)`) follow the `fmt` package of Go 1.26. Refused, where Go would
//! run out of memory or stack: more than [`MAX_TEXT`] bytes, and values nested deeper than
//! [`MAX_VALUE_DEPTH`](crate::value::MAX_VALUE_DEPTH). Addresses (`%p`, functions) are a constant,
//! for two runs must give the same bytes.

mod directive;
mod layout;
mod print;

pub use directive::printf;
pub use print::{display, print, println};

/// The longest text one call may make, in bytes.
pub const MAX_TEXT: usize = 64 << 20;

/// Why a value was not written out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FormatError {
    /// More than [`MAX_TEXT`] bytes.
    #[error("formatted text is larger than {MAX_TEXT} bytes")]
    TooLarge,
    /// Lists and maps nested too deep, or a map that contains itself.
    #[error("value is nested too deep to be printed")]
    TooDeep,
}
