//! What calls may cost at most: functions of texts and of lists.

use cel_syntax::common::ast::{Expr, IdedExpr, LiteralValue};

use super::super::fit::Type;
use super::super::library::Overload;
use super::price::Price;
use super::range::Range;
use super::{CHARACTER, NEW_LIST, PATTERN};

/// The longest pattern of a format.
const FORMAT_PATTERN: f64 = 128.0;

/// The steps from a variable to a part of it; none for what is computed.
pub(super) type Path = Vec<String>;

/// What a function is called on or with.
pub(super) struct Operand<'e> {
    pub(super) node: &'e IdedExpr,
    pub(super) path: Path,
    pub(super) size: Option<Range>,
}

impl Operand<'_> {
    pub(super) fn size(&self) -> Range {
        self.size.unwrap_or(Range::UNKNOWN)
    }

    /// A number that is written there; none below zero.
    pub(super) fn number(&self) -> Option<u64> {
        match &self.node.expr {
            Expr::Literal(LiteralValue::Int(number)) => {
                Some(u64::try_from(*number.inner()).unwrap_or(0))
            }
            _ => None,
        }
    }
}

pub(super) struct Call<'c, 'e> {
    pub(super) node: &'e IdedExpr,
    pub(super) target: Option<Operand<'e>>,
    pub(super) arguments: Vec<Operand<'e>>,
    pub(super) costs: &'c [Range],
}

impl<'e> Call<'_, 'e> {
    /// Target and arguments.
    pub(super) fn operand(&self, index: usize) -> Option<&Operand<'e>> {
        let mut all = self.target.iter().chain(&self.arguments);
        all.nth(index)
    }

    pub(super) fn size(&self, index: usize) -> Range {
        self.operand(index).map_or(Range::UNKNOWN, Operand::size)
    }

    pub(super) fn argument(&self, index: usize) -> Range {
        let argument = self.arguments.get(index);
        argument.map_or(Range::UNKNOWN, Operand::size)
    }
}

/// An address has four or sixteen bytes.
pub(super) const ADDRESS: Range = Range::new(4, 16);

pub(super) fn in_network(call: &Call<'_, '_>, parses: bool) -> Range {
    let cost = ADDRESS.plus(ADDRESS).scaled(CHARACTER);
    if parses {
        cost.plus(call.argument(0).scaled(CHARACTER))
    } else {
        cost
    }
}

/// Functions of texts.
pub(super) fn of_text(call: &Call<'_, '_>, price: Price) -> Option<(Range, Option<Range>)> {
    let text = call.size(0);
    let once = text.scaled(CHARACTER);
    Some(match price {
        Price::Traversal(times) => (text.scaled(times * CHARACTER), None),
        Price::Same => (once, Some(text)),
        Price::Replace => {
            let result = replaced(text, call.argument(0), call.argument(1));
            (text.scaled(2.0 * CHARACTER), Some(result))
        }
        Price::Split => {
            let limit = call.arguments.get(1);
            let most = limit.and_then(|limit| match &limit.node.expr {
                Expr::Literal(LiteralValue::Int(number)) => Some(number.inner().cast_unsigned()),
                _ => None,
            });
            let result = Range::new(0, most.unwrap_or(text.max));
            (text.scaled(2.0 * CHARACTER), Some(result))
        }
        Price::Find => (matched(call), Some(Range::new(0, text.max))),
        Price::Matches => (matched(call), None),
        Price::Contains => (once.times(call.argument(0).scaled(CHARACTER)), None),
        Price::Affix => (call.argument(0).scaled(CHARACTER), None),
        Price::Format => {
            let text = call.argument(0).scaled(CHARACTER);
            (text.scaled(FORMAT_PATTERN * PATTERN), None)
        }
        Price::Template => (once, None),
        // Numbers go round here as they do in Go.
        Price::ToBytes => {
            let result = Range::new(text.min, text.max.wrapping_mul(4));
            (once, Some(result))
        }
        Price::ToText => (once, Some(Range::new(text.min / 4, text.max))),
        Price::Quote => {
            let most = text.max.wrapping_mul(2).wrapping_add(2);
            let result = Range::new(text.min.wrapping_add(2), most);
            (once, Some(result))
        }
        _ => return None,
    })
}

fn matched(call: &Call<'_, '_>) -> Range {
    // An empty text is matched too.
    let text = call.size(0).plus(Range::exactly(1)).scaled(CHARACTER);
    text.times(call.argument(0).scaled(PATTERN))
}

/// Functions of lists that cost as much as they have items.
pub(super) fn of_list(
    call: &Call<'_, '_>,
    price: Price,
    overload: Option<&Overload>,
) -> (Range, Option<Range>) {
    let list = call.size(0);
    let number = |index: usize| call.arguments.get(index).and_then(Operand::number);
    match price {
        Price::Slice => {
            let to = number(1).unwrap_or(list.max);
            allocated(1.0, Range::exactly(to.wrapping_sub(number(0).unwrap_or(0))))
        }
        Price::Numbers => allocated(1.0, Range::exactly(number(0).unwrap_or(u64::MAX))),
        Price::Flatten => {
            let depth = if call.arguments.is_empty() {
                1
            } else {
                number(0).unwrap_or(u64::MAX)
            };
            #[expect(clippy::cast_precision_loss, reason = "as Go computes it")]
            allocated(depth as f64, list)
        }
        Price::Distinct => allocated(2.0, list.times(list)),
        Price::Sort | Price::SortBy => {
            let compared = if price == Price::Sort {
                list
            } else {
                call.argument(0)
            };
            let items = overload.and_then(|overload| overload.arguments.last());
            let texts = matches!(items, Some(Type::Of("list", parts))
                if matches!(parts.as_slice(), [Type::Plain("string" | "bytes")]));
            let factor = if texts { 2.0 + CHARACTER } else { 2.0 };
            allocated(factor, compared.times(compared))
        }
        Price::Sets(times) => {
            let cost = list.times(call.argument(1)).scaled(times);
            (cost.plus(Range::exactly(1)), None)
        }
        _ => allocated(1.0, list),
    }
}

/// To compare two values as far as the smaller one goes.
pub(super) fn compared(call: &Call<'_, '_>) -> Range {
    let most = call.argument(0).max.min(call.argument(1).max);
    Range::new(most.min(1), most).scaled(CHARACTER)
}

/// A call that makes a list.
fn allocated(factor: f64, size: Range) -> (Range, Option<Range>) {
    let cost = size.scaled(factor).plus(Range::exactly(1 + NEW_LIST));
    (cost, Some(size))
}

/// How large a text may be in which others are replaced.
fn replaced(text: Range, from: Range, to: Range) -> Range {
    let (mut count, mut kept) = (Range::default(), Range::default());
    if from.min == 0 {
        // Before and after each character.
        count.max = text.max.saturating_add(1);
        kept.max = text.max;
    } else if to.max <= from.min {
        kept.max = text.max;
    } else {
        count.max = quotient(text.max, from.min);
    }
    if from.max == 0 {
        count.min = text.min.saturating_add(1);
        kept.min = text.min;
    } else if from.max <= to.min {
        kept.min = text.min;
    } else {
        count.min = quotient(text.min, from.max);
    }
    count.times(to).plus(kept)
}

#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "as Go computes it; the cast back stops at the ends"
)]
fn quotient(of: u64, by: u64) -> u64 {
    (of as f64 / by as f64).ceil() as u64
}
