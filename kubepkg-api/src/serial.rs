//! Which values count as empty and are left out of an object's JSON, by the rules of Go's `omitempty`.

/// A number that is zero.
#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "the signature serde wants"
)]
pub(crate) fn is_zero(number: &i32) -> bool {
    *number == 0
}

/// A 64-bit number that is zero.
#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "the signature serde wants"
)]
pub(crate) fn is_zero_64(number: &i64) -> bool {
    *number == 0
}

/// A flag that is not set.
#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "the signature serde wants"
)]
pub(crate) fn is_false(flag: &bool) -> bool {
    !*flag
}
