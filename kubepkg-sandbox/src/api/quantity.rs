//! Quantities: `resource.Quantity` of `k8s.io/apimachinery`, for objects and for CEL.
//!
//! A quantity is a whole number with a power of ten, and the way in which it was written: with suffixes of ten, of two,
//! or with an exponent. What is smaller than a billionth is rounded up. The API server keeps it in one form: `1000m` is
//! `1`, and `1024Mi` is `1Gi`.

use std::cmp::Ordering;

/// What a text that is no quantity is told.
const OFFENCE: &str = "quantities must match the regular expression \
    '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
const SUFFIX: &str = "unable to parse quantity's suffix";
/// Digits that the API server holds in 64 bits.
const FAST_DIGITS: i64 = 18;
/// Digits that are read at all.
const MAX_DIGITS: usize = 36;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Decimal,
    Exponent,
    Binary,
}

/// A whole number with a power of ten, and the way in which it was written.
#[derive(Clone, Debug)]
pub(crate) struct Quantity {
    value: i128,
    scale: i32,
    form: Form,
    /// Whether the API server holds it in 64 bits.
    is_small: bool,
    /// As it was written, when it is shown like that.
    written: Option<String>,
}

const SUFFIXES: &[(&str, Form, i32)] = &[
    ("n", Form::Decimal, -9),
    ("u", Form::Decimal, -6),
    ("m", Form::Decimal, -3),
    ("", Form::Decimal, 0),
    ("k", Form::Decimal, 3),
    ("M", Form::Decimal, 6),
    ("G", Form::Decimal, 9),
    ("T", Form::Decimal, 12),
    ("P", Form::Decimal, 15),
    ("E", Form::Decimal, 18),
    ("Ki", Form::Binary, 10),
    ("Mi", Form::Binary, 20),
    ("Gi", Form::Binary, 30),
    ("Ti", Form::Binary, 40),
    ("Pi", Form::Binary, 50),
    ("Ei", Form::Binary, 60),
];

fn ten(exponent: i32) -> Option<i128> {
    10_i128.checked_pow(u32::try_from(exponent).ok()?)
}

impl Quantity {
    /// Reads a quantity.
    pub(crate) fn parse(text: &str) -> Result<Self, &'static str> {
        let bare = text.strip_prefix(['+', '-']).unwrap_or(text);
        let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
        let (whole, rest) = bare.split_at(digits(bare));
        let (fraction, suffix) = match rest.strip_prefix('.') {
            Some(rest) => rest.split_at(digits(rest)),
            None => ("", rest),
        };
        if text.is_empty() {
            return Err(OFFENCE);
        }
        let letters = suffix.trim_start_matches(|sign| "eEinumkKMGTP".contains(sign));
        let exponent = letters.strip_prefix(['+', '-']).unwrap_or(letters);
        if !exponent.bytes().all(|digit| digit.is_ascii_digit()) {
            return Err(OFFENCE);
        }
        let (form, exponent) = suffix_of(suffix).ok_or(SUFFIX)?;
        if whole.is_empty() && fraction.is_empty() && !(bare.is_empty() || rest.starts_with('.')) {
            // Only a suffix: the API server reads no digits as zero.
            return Ok(Self::zero(form));
        }
        let whole = whole.trim_start_matches('0');
        if whole.len() + fraction.len() > MAX_DIGITS {
            return Err("unable to parse numeric part of quantity");
        }
        let number: i128 = format!("0{whole}{fraction}").parse().unwrap_or(0);
        let places = i32::try_from(fraction.len()).unwrap_or(0);
        let is_negative = text.starts_with('-');
        let count = i64::try_from(whole.len().max(1) + fraction.len()).unwrap_or(i64::MAX);
        let room = match form {
            Form::Binary if fraction.is_empty() => {
                15 - i64::try_from(whole.len().max(1)).unwrap_or(0)
                    - i64::from(exponent) * 3 / 10
                    - 1
            }
            Form::Binary => -1,
            _ => FAST_DIGITS - count,
        };
        let (value, scale) = match form {
            Form::Binary => (number.checked_mul(1_i128 << exponent), -places),
            _ => (Some(number), exponent - places),
        };
        let value = value.ok_or("unable to parse numeric part of quantity")?;
        let signed = if is_negative { -value } else { value };
        let is_small = room >= 0 && scale >= -9;
        let shifted = format!("{}{fraction}", if whole.is_empty() { "0" } else { whole });
        let canonical = match form {
            Form::Binary => exponent % 10 == 0 && number & 7 != 0,
            _ => scale % 3 == 0 && !shifted.ends_with("000") && !shifted.starts_with('0'),
        };
        let mut quantity = Self {
            value: signed,
            scale,
            form,
            is_small,
            written: (is_small && canonical || text == "0").then(|| text.to_owned()),
        };
        if !is_small {
            quantity.cap();
            quantity.round();
            if form == Form::Binary
                && quantity.compare(&Self::of(1)) == Ordering::Less
                && value > 0
                && !is_negative
            {
                quantity.form = Form::Decimal;
            }
        }
        Ok(quantity)
    }

    fn zero(form: Form) -> Self {
        Self {
            form,
            ..Self::of(0)
        }
    }

    /// A whole number.
    pub(crate) fn of(value: i64) -> Self {
        Self {
            value: value.into(),
            scale: 0,
            form: Form::Exponent,
            is_small: true,
            written: None,
        }
    }

    /// With a suffix of two, no more than 64 bits hold.
    fn cap(&mut self) {
        if self.form == Form::Binary && self.compare(&Self::of(i64::MAX)) == Ordering::Greater {
            self.value = i64::MAX.into();
            self.scale = 0;
        }
    }

    /// Below zero, zero, or above.
    pub(crate) fn sign(&self) -> i64 {
        i64::try_from(self.value.signum()).unwrap_or(0)
    }

    /// Away from zero, to thousandths, as lists of resources are kept.
    pub(crate) fn to_thousandths(&self) -> Self {
        let by = (self.scale < -3).then(|| ten(-3 - self.scale)).flatten();
        let Some(by) = by.filter(|by| self.value % by != 0) else {
            return self.clone();
        };
        Self {
            value: self.value / by + self.value.signum(),
            scale: -3,
            written: None,
            ..self.clone()
        }
    }

    /// Away from zero, to billionths.
    fn round(&mut self) {
        let Some(by) = (self.scale < -9).then(|| ten(-9 - self.scale)).flatten() else {
            return;
        };
        let up = i128::from(self.value % by != 0) * self.value.signum();
        self.value = self.value / by + up;
        self.scale = -9;
    }

    /// Both values at one scale.
    fn aligned(&self, other: &Self) -> Option<(i128, i128, i32)> {
        let scale = self.scale.min(other.scale);
        let at = |of: &Self| of.value.checked_mul(ten(of.scale - scale)?);
        Some((at(self)?, at(other)?, scale))
    }

    /// Which of two is larger.
    pub(crate) fn compare(&self, other: &Self) -> Ordering {
        if let Some((one, other, _)) = self.aligned(other) {
            return one.cmp(&other);
        }
        let signs = self.value.signum().cmp(&other.value.signum());
        signs.then(self.scale.cmp(&other.scale))
    }

    /// The sum of two, or with a sign of -1 their difference.
    pub(crate) fn plus(&self, other: &Self, sign: i128) -> Option<Self> {
        let (one, added, scale) = self.aligned(other)?;
        let value = one.checked_add(sign.checked_mul(added)?)?;
        let form = if self.value == 0 {
            other.form
        } else {
            self.form
        };
        Some(Self {
            value,
            scale,
            form,
            is_small: self.is_small && other.is_small && i64::try_from(value).is_ok(),
            written: None,
        })
    }

    /// As a whole number, when it is held as one.
    pub(crate) fn whole(&self) -> Option<i64> {
        if !self.is_small || self.scale < 0 {
            return None;
        }
        i64::try_from(self.value.checked_mul(ten(self.scale)?)?).ok()
    }

    /// As a number with a point.
    #[expect(
        clippy::cast_precision_loss,
        reason = "as the API server approximates quantities"
    )]
    pub(crate) fn approximate(&self) -> f64 {
        let value = self.value as f64;
        if self.scale == 0 {
            value
        } else {
            value * format!("1e{}", self.scale).parse().unwrap_or(f64::NAN)
        }
    }

    /// In the form that the API server keeps.
    pub(crate) fn text(&self) -> String {
        if let Some(written) = &self.written {
            return written.clone();
        }
        if self.value == 0 {
            return "0".to_owned();
        }
        if self.form == Form::Binary
            && let Some(text) = self.binary()
        {
            return text;
        }
        let (mut value, mut scale) = (self.value, self.scale);
        while value % 10 == 0 {
            value /= 10;
            scale += 1;
        }
        // To a power of a thousand.
        while scale % 3 != 0 {
            value = value.saturating_mul(10);
            scale -= 1;
        }
        let known = SUFFIXES
            .iter()
            .find(|(_, form, exponent)| *form == Form::Decimal && *exponent == scale);
        match known {
            Some((suffix, ..)) if self.form != Form::Exponent => format!("{value}{suffix}"),
            _ if scale == 0 => value.to_string(),
            _ => format!("{value}e{scale}"),
        }
    }

    /// With a suffix of two; none for what is small or no whole number.
    fn binary(&self) -> Option<String> {
        let mut value = match ten(-self.scale) {
            Some(by) if self.value % by == 0 => self.value / by,
            Some(_) => return None,
            None => self.value.checked_mul(ten(self.scale)?)?,
        };
        if value.abs() < 1024 {
            return None;
        }
        let mut exponent = 0;
        while value % 1024 == 0 && exponent < 60 {
            value /= 1024;
            exponent += 10;
        }
        let (suffix, ..) = SUFFIXES
            .iter()
            .find(|(_, form, at)| exponent > 0 && *form == Form::Binary && *at == exponent)
            .unwrap_or(&("", Form::Binary, 0));
        Some(format!("{value}{suffix}"))
    }
}

fn suffix_of(suffix: &str) -> Option<(Form, i32)> {
    if let Some((_, form, exponent)) = SUFFIXES.iter().find(|(known, ..)| *known == suffix) {
        return Some((*form, *exponent));
    }
    let exponent = suffix.strip_prefix(['e', 'E'])?;
    Some((
        Form::Exponent,
        exponent
            .parse()
            .ok()
            .filter(|it| (-100..=100).contains(it))?,
    ))
}

impl PartialEq for Quantity {
    fn eq(&self, other: &Self) -> bool {
        self.compare(other) == Ordering::Equal
    }
}

impl Eq for Quantity {}

/// The form of a quantity that the API server keeps.
pub(crate) fn canonical(text: &str) -> Result<String, &'static str> {
    Quantity::parse(text).map(|quantity| quantity.text())
}

/// The same for one of a list of resources.
pub(crate) fn of_resource(text: &str) -> Option<String> {
    let quantity = Quantity::parse(text).ok()?;
    Some(quantity.to_thousandths().text())
}

/// Which of two quantities is larger.
pub(crate) fn compare(one: &str, other: &str) -> Option<Ordering> {
    Some(
        Quantity::parse(one)
            .ok()?
            .compare(&Quantity::parse(other).ok()?),
    )
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
            ("+1", "+1"),
            (".1", "100m"),
            ("0.1n", "1n"),
            // As kube-apiserver 1.36 answers: no digits are none, and what is in its form stays as it is.
            ("Gi", "0"),
            ("-", "0"),
            (".", "0"),
            ("1.", "1."),
            ("1E3", "1E3"),
            ("10Ei", "9223372036854775807"),
        ] {
            assert_eq!(canonical(given).as_deref(), Ok(wanted), "{given}");
        }
        for wrong in ["", "x", "1KiB", "1.2.3", "1 Gi"] {
            assert!(canonical(wrong).is_err(), "{wrong}");
        }
    }
}
