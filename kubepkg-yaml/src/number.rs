//! Floats as Go writes them: the shortest digits that read back, laid out by three rules.
//!
//! The digits come from serde_json: where two shortest texts are equally near, it takes the even
//! one, as Go does, while the standard library rounds up.

use std::fmt::Write as _;

struct Shortest {
    negative: bool,
    /// Significant digits, no leading or trailing zeros, at least one.
    digits: String,
    /// Power of ten of the first digit.
    exponent: i32,
}

/// Reads the digits out of a decimal text (`-12.5`, `1e21`, `0.001`).
fn digits(text: &str) -> Option<Shortest> {
    let negative = text.starts_with('-');
    let text = text.trim_start_matches('-');
    let (mantissa, power) = text.split_once('e').unwrap_or((text, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let mut exponent: i32 = power.parse().ok()?;
    exponent += i32::try_from(whole.len()).ok()? - 1;
    let mut digits = format!("{whole}{fraction}");
    let zeros = digits.bytes().take_while(|&byte| byte == b'0').count();
    if zeros == digits.len() {
        return Some(Shortest {
            negative,
            digits: "0".to_owned(),
            exponent: 0,
        });
    }
    exponent -= i32::try_from(zeros).ok()?;
    digits.drain(..zeros);
    digits.truncate(digits.trim_end_matches('0').len());
    Some(Shortest {
        negative,
        digits,
        exponent,
    })
}

impl Shortest {
    fn fixed(&self, out: &mut String) {
        let Ok(before) = usize::try_from(self.exponent + 1) else {
            out.push_str("0.");
            for _ in 1..-self.exponent {
                out.push('0');
            }
            out.push_str(&self.digits);
            return;
        };
        if before == 0 {
            out.push_str("0.");
            out.push_str(&self.digits);
        } else if let Some((whole, fraction)) = self.digits.split_at_checked(before) {
            out.push_str(whole);
            if !fraction.is_empty() {
                out.push('.');
                out.push_str(fraction);
            }
        } else {
            out.push_str(&self.digits);
            for _ in self.digits.len()..before {
                out.push('0');
            }
        }
    }

    fn scientific(&self, out: &mut String, exponent_digits: usize) {
        let (first, rest) = self.digits.split_at_checked(1).unwrap_or(("0", ""));
        out.push_str(first);
        if !rest.is_empty() {
            out.push('.');
            out.push_str(rest);
        }
        let sign = if self.exponent < 0 { '-' } else { '+' };
        let _ = write!(
            out,
            "e{sign}{:0exponent_digits$}",
            self.exponent.unsigned_abs()
        );
    }
}

fn write_general(out: &mut String, value: &str) {
    let Some(shortest) = digits(value) else {
        return;
    };
    if shortest.negative {
        out.push('-');
    }
    if (-4..6).contains(&shortest.exponent) {
        shortest.fixed(out);
    } else {
        shortest.scientific(out, 2);
    }
}

fn special(out: &mut String, value: f64) -> bool {
    if value.is_nan() {
        out.push_str("NaN");
    } else if value.is_infinite() {
        out.push_str(if value > 0.0 { "+Inf" } else { "-Inf" });
    } else {
        return false;
    }
    true
}

/// A float as Go's `%v` writes it.
pub fn go_float(value: f64) -> String {
    let mut out = String::new();
    general(&mut out, value);
    out
}

/// `strconv.FormatFloat(value, 'g', -1, 64)`: scientific below 1e-4 and from 1e6 on.
pub(crate) fn general(out: &mut String, value: f64) {
    if !special(out, value) {
        write_general(out, &serde_json::to_string(&value).unwrap_or_default());
    }
}

/// A float as the text of a map key: sigs.k8s.io/yaml gives it the precision of 32 bits, and YAML's names of what is
/// no number.
pub(crate) fn key(out: &mut String, value: f64) {
    #[allow(clippy::cast_possible_truncation, reason = "Go rounds to float32 here")]
    let narrow = value as f32;
    if narrow.is_nan() {
        out.push_str(".nan");
    } else if narrow.is_infinite() {
        out.push_str(if narrow > 0.0 { ".inf" } else { "-.inf" });
    } else {
        write_general(out, &serde_json::to_string(&narrow).unwrap_or_default());
    }
}

/// A float in JSON (`encoding/json`): scientific below 1e-6 and from 1e21 on.
pub(crate) fn json(out: &mut String, value: f64) {
    let Some(shortest) = digits(&serde_json::to_string(&value).unwrap_or_default()) else {
        return;
    };
    if shortest.negative {
        out.push('-');
    }
    let magnitude = value.abs();
    if magnitude != 0.0 && !(1e-6..1e21).contains(&magnitude) {
        shortest.scientific(out, if shortest.exponent < 0 { 1 } else { 2 });
    } else {
        shortest.fixed(out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(write: fn(&mut String, f64), value: f64) -> String {
        let mut out = String::new();
        write(&mut out, value);
        out
    }

    /// Expected values from Go's documentation of FormatFloat and encoding/json.
    #[test]
    fn layouts() {
        assert_eq!(text(general, 1e6), "1e+06");
        assert_eq!(text(general, 123_456.0), "123456");
        assert_eq!(text(general, 1_234_567.5), "1.2345675e+06");
        assert_eq!(text(general, 0.0001), "0.0001");
        assert_eq!(text(general, 0.00001), "1e-05");
        assert_eq!(text(general, -0.0), "-0");
        assert_eq!(text(key, 0.123_456_789_012), "0.12345679");
        assert_eq!(text(json, 1e20), "100000000000000000000");
        assert_eq!(text(json, 1e21), "1e+21");
        assert_eq!(text(json, 1e-7), "1e-7");
        assert_eq!(text(json, 0.000_001), "0.000001");
        assert_eq!(text(json, 12.5), "12.5");
        assert_eq!(text(json, 5e-324), "5e-324");
        assert_eq!(
            text(json, 867_249_356_937_479.0 + 0.25),
            "867249356937479.2"
        );
        assert_eq!(
            text(json, 867_249_356_937_479.0 + 0.75),
            "867249356937479.8"
        );
        assert_eq!(text(general, f64::MAX), "1.7976931348623157e+308");
    }
}
