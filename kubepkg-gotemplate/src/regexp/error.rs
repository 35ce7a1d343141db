//! What `regexp/syntax` says about a pattern that it refuses.

/// Go's `*syntax.Error`: ``error parsing regexp: missing closing ): `(` ``.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "error parsing regexp: {code}: `{}`",
    String::from_utf8_lossy(expression)
)]
pub(crate) struct RegexpError {
    code: &'static str,
    expression: Vec<u8>,
}

impl RegexpError {
    pub(super) fn new(code: &'static str, expression: &[u8]) -> Self {
        Self {
            code,
            expression: expression.to_vec(),
        }
    }
}
