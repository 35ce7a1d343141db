//! Decimal arithmetic of `addf`, `subf`, `mulf` and `divf`: the rules of `shopspring/decimal` 1.4.
//! Numbers are exact; a quotient has 16 decimals, halves rounded away from zero.

use num_bigint::{BigInt, BigUint, Sign};

/// `value * 10^exponent`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Decimal {
    value: BigInt,
    exponent: i64,
}

/// Decimals of a quotient.
const PRECISION: i64 = 16;

fn power_of_ten(exponent: i64) -> BigInt {
    BigInt::from(10).pow(u32::try_from(exponent).unwrap_or(0))
}

impl Decimal {
    /// The shortest decimal that reads back as `x`; `None` for NaN and infinities.
    pub(super) fn from_float(x: f64) -> Option<Self> {
        if !x.is_finite() {
            return None;
        }
        let text = format!("{x:e}");
        let (mantissa, exponent) = text.split_once('e')?;
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let value: BigInt = format!("{whole}{fraction}").parse().ok()?;
        let exponent: i64 = exponent.parse().ok()?;
        Some(Self {
            value,
            exponent: exponent - i64::try_from(fraction.len()).ok()?,
        })
    }

    /// The nearest double.
    pub(super) fn to_float(&self) -> f64 {
        format!("{}e{}", self.value, self.exponent)
            .parse()
            .unwrap_or(0.0)
    }

    fn aligned(&self, exponent: i64) -> BigInt {
        &self.value * power_of_ten(self.exponent - exponent)
    }

    pub(super) fn add(&self, other: &Self) -> Self {
        let exponent = self.exponent.min(other.exponent);
        Self {
            value: self.aligned(exponent) + other.aligned(exponent),
            exponent,
        }
    }

    pub(super) fn sub(&self, other: &Self) -> Self {
        let exponent = self.exponent.min(other.exponent);
        Self {
            value: self.aligned(exponent) - other.aligned(exponent),
            exponent,
        }
    }

    pub(super) fn mul(&self, other: &Self) -> Self {
        Self {
            value: &self.value * &other.value,
            exponent: self.exponent + other.exponent,
        }
    }

    /// `None` when `other` is zero.
    pub(super) fn div(&self, other: &Self) -> Option<Self> {
        if other.value.sign() == Sign::NoSign {
            return None;
        }
        let negative = (self.value.sign() == Sign::Minus) != (other.value.sign() == Sign::Minus);
        let mut dividend: BigUint = self.value.magnitude().clone();
        let mut divisor: BigUint = other.value.magnitude().clone();
        let shift = self.exponent - other.exponent + PRECISION;
        let scale = power_of_ten(shift.abs());
        if shift < 0 {
            divisor *= scale.magnitude();
        } else {
            dividend *= scale.magnitude();
        }
        let mut quotient = &dividend / &divisor;
        let rest = dividend - &quotient * &divisor;
        if rest * 2_u8 >= divisor {
            quotient += 1_u8;
        }
        let sign = if negative { Sign::Minus } else { Sign::Plus };
        Some(Self {
            value: BigInt::from_biguint(sign, quotient),
            exponent: -PRECISION,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn d(x: f64) -> Decimal {
        Decimal::from_float(x).unwrap()
    }

    #[test]
    fn sums_are_exact_and_quotients_rounded_at_sixteen_places() {
        assert_eq!(d(0.1).add(&d(0.2)).to_float().to_string(), "0.3");
        assert_eq!(
            d(1.0).div(&d(3.0)).unwrap().to_float().to_string(),
            "0.3333333333333333"
        );
        assert_eq!(
            d(2.0).div(&d(3.0)).unwrap().to_float().to_string(),
            "0.6666666666666667"
        );
        assert_eq!(
            d(-2.0).div(&d(3.0)).unwrap().to_float().to_string(),
            "-0.6666666666666667"
        );
        assert_eq!(d(1.1).mul(&d(1.1)).to_float().to_string(), "1.21");
        assert!(d(1.0).div(&d(0.0)).is_none());
    }
}
