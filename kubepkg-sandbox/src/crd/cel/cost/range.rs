//! From how much to how much something may be: sizes and costs. What would be more than a `u64` holds stays there.

/// A size or a cost that is not known exactly.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Range {
    pub(crate) min: u64,
    pub(crate) max: u64,
}

impl Range {
    pub(super) const UNKNOWN: Self = Self {
        min: 0,
        max: u64::MAX,
    };
    /// What encloses nothing yet.
    pub(super) const EMPTY: Self = Self {
        min: u64::MAX,
        max: 0,
    };

    pub(super) const fn exactly(count: u64) -> Self {
        Self {
            min: count,
            max: count,
        }
    }

    pub(super) const fn new(min: u64, max: u64) -> Self {
        Self { min, max }
    }

    pub(super) const fn plus(self, other: Self) -> Self {
        Self {
            min: self.min.saturating_add(other.min),
            max: self.max.saturating_add(other.max),
        }
    }

    pub(super) const fn times(self, other: Self) -> Self {
        Self {
            min: self.min.saturating_mul(other.min),
            max: self.max.saturating_mul(other.max),
        }
    }

    /// So many units for each, rounded up.
    pub(super) fn scaled(self, factor: f64) -> Self {
        Self {
            min: scaled(self.min, factor),
            max: scaled(self.max, factor),
        }
    }

    /// What encloses both.
    pub(super) fn or(self, other: Self) -> Self {
        Self {
            min: self.min.min(other.min),
            max: self.max.max(other.max),
        }
    }
}

/// So many units for each, rounded up.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "as Go computes it; the cast back stops at the ends"
)]
pub(super) fn scaled(count: u64, factor: f64) -> u64 {
    (count as f64 * factor).ceil() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stops_where_numbers_end() {
        let all = Range::UNKNOWN;
        assert_eq!(all.plus(Range::exactly(1)).max, u64::MAX);
        assert_eq!(all.times(all), all);
        assert_eq!(all.scaled(2.0).max, u64::MAX);
        assert_eq!(Range::exactly(11).scaled(0.1), Range::exactly(2));
        assert_eq!(
            Range::EMPTY.or(Range::exactly(3)).or(Range::exactly(1)),
            Range::new(1, 3)
        );
    }
}
