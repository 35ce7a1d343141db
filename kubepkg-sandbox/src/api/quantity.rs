//! Quantities in the form that the API server keeps: `1000m` is `1`, and `1024Mi` is `1Gi`.
//!
//! After `resource.Quantity` of `k8s.io/apimachinery`.

const DECIMAL: [&str; 10] = ["n", "u", "m", "", "k", "M", "G", "T", "P", "E"];
const BINARY: [&str; 7] = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];
/// What a text that is no quantity is told.
pub(crate) const OFFENCE: &str = "quantities must match the regular expression \
    '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";

/// The form of a quantity; none for a text that is none, and the text itself for one that is too large to be counted.
pub(crate) fn canonical(text: &str) -> Option<String> {
    let (negative, whole, fraction, suffix) = parts(text)?;
    let unit = Unit::of(suffix)?;
    let Some(nano) = counted(whole, fraction, &unit) else {
        return Some(text.to_owned());
    };
    let shown = match unit {
        _ if nano == 0 => return Some("0".to_owned()),
        Unit::Binary(_) if nano >= 1024 * BILLION => {
            let mut count = nano.div_euclid(BILLION) + i128::from(nano.rem_euclid(BILLION) > 0);
            let mut power = 0;
            while count % 1024 == 0 && power + 1 < BINARY.len() {
                count /= 1024;
                power += 1;
            }
            format!("{count}{}", BINARY.get(power)?)
        }
        unit => {
            let (mut count, mut power) = (nano, 0);
            while count % 1000 == 0 && power + 1 < DECIMAL.len() {
                count /= 1000;
                power += 1;
            }
            match (unit, power) {
                (Unit::Exponent(_), 3) => count.to_string(),
                (Unit::Exponent(_), _) => {
                    let exponent = 3 * i64::try_from(power).ok()? - 9;
                    format!("{count}e{exponent}")
                }
                _ => format!("{count}{}", DECIMAL.get(power)?),
            }
        }
    };
    Some(if negative { format!("-{shown}") } else { shown })
}

/// Which of two quantities is larger, as far as they can be counted.
pub(crate) fn compare(one: &str, other: &str) -> Option<std::cmp::Ordering> {
    let of = |text: &str| {
        let (negative, whole, fraction, suffix) = parts(text)?;
        let nano = counted(whole, fraction, &Unit::of(suffix)?)?;
        Some(if negative { -nano } else { nano })
    };
    Some(of(one)?.cmp(&of(other)?))
}

/// Sign, whole number, fraction and suffix of a quantity.
fn parts(text: &str) -> Option<(bool, &str, &str, &str)> {
    let digits_end = text
        .char_indices()
        .find(|(at, sign)| {
            !(sign.is_ascii_digit() || *sign == '.' || (*at == 0 && matches!(sign, '+' | '-')))
        })
        .map_or(text.len(), |(at, _)| at);
    let (number, suffix) = text.split_at(digits_end);
    let negative = number.starts_with('-');
    let number = number.trim_start_matches(['+', '-']);
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let none = (whole.is_empty() && fraction.is_empty()) || fraction.contains('.');
    (!none).then_some((negative, whole, fraction, suffix))
}

const BILLION: i128 = 1_000_000_000;

enum Unit {
    /// A power of ten.
    Decimal(i32),
    Exponent(i32),
    /// A power of 1024.
    Binary(u32),
}

impl Unit {
    fn of(suffix: &str) -> Option<Self> {
        if let Some(power) = DECIMAL.iter().position(|known| *known == suffix) {
            return Some(Self::Decimal(3 * i32::try_from(power).ok()? - 9));
        }
        if let Some(power) = BINARY.iter().position(|known| *known == suffix) {
            return Some(Self::Binary(u32::try_from(power).ok()?));
        }
        let exponent = suffix.strip_prefix(['e', 'E'])?;
        exponent.parse().ok().map(Self::Exponent)
    }
}

/// How many billionths a number is, rounded up.
fn counted(whole: &str, fraction: &str, unit: &Unit) -> Option<i128> {
    let digits: String = [whole, fraction].concat();
    let number: i128 = if digits.is_empty() {
        0
    } else {
        digits.parse().ok()?
    };
    let (power, factor) = match unit {
        Unit::Decimal(power) | Unit::Exponent(power) => (*power, 1),
        Unit::Binary(power) => (0, 1024_i128.checked_pow(*power)?),
    };
    let number = number.checked_mul(factor)?;
    let power = power
        .checked_add(9)?
        .checked_sub(i32::try_from(fraction.len()).ok()?)?;
    let scale = 10_i128.checked_pow(power.unsigned_abs());
    if power >= 0 {
        return number.checked_mul(scale?);
    }
    // What is smaller than a billionth is one.
    let Some(scale) = scale else {
        return Some(i128::from(number > 0));
    };
    Some(number / scale + i128::from(number % scale > 0))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By the rules of `CanonicalizeBytes`, by hand.
    #[test]
    fn quantities_lose_what_a_larger_unit_says() {
        for (given, wanted) in [
            ("1000m", "1"),
            ("0.5", "500m"),
            ("1024Mi", "1Gi"),
            ("1.5Gi", "1536Mi"),
            ("1500M", "1500M"),
            ("1000Ki", "1000Ki"),
            ("512Ki", "512Ki"),
            ("0.5Ki", "512"),
            ("1e3", "1e3"),
            ("1000e3", "1e6"),
            ("-2000m", "-2"),
            ("0Gi", "0"),
            ("+1", "1"),
            (".1", "100m"),
            ("0.1n", "1n"),
        ] {
            assert_eq!(canonical(given).as_deref(), Some(wanted), "{given}");
        }
        for wrong in ["", "x", "1KiB", "1.2.3", "e3", "1 Gi"] {
            assert_eq!(canonical(wrong), None, "{wrong}");
        }
    }
}
