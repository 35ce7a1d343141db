//! The table of what functions cost.

use super::super::fit::Type;
use super::super::library::Overload;

/// How the cost of a call comes about.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Price {
    /// A step, whatever it is called with.
    Step,
    /// To go through the first operand so many times.
    Traversal(f64),
    /// To go through it once; what comes out is as large.
    Same,
    /// To compare the items of a list, or to go through a text.
    Items,
    Replace,
    Split,
    Join,
    /// To find a pattern in a text.
    Find,
    /// Whether an address is in a network.
    HasAddress {
        parses: bool,
    },
    /// Whether a network is in another.
    HasNetwork {
        parses: bool,
    },
    /// To match a text with the pattern of a format.
    Format,
    /// To write a text by a template.
    Template,
    ToBytes,
    ToText,
    Quote,
    /// The beginning or the end of a text.
    Affix,
    InList,
    Matches,
    Contains,
    And,
    Choice,
    JoinTexts,
    JoinLists,
    Compare,
    Equal,
    Slice,
    Numbers,
    Reverse,
    Flatten,
    Distinct,
    Sort,
    SortBy,
    Sets(f64),
}

/// Functions, the type of their last argument where it matters, and what they cost. The first row that fits counts; what
/// is in none costs a step. A dot stands before functions that are meant only as members.
const PRICES: &[(&str, &str, Price)] = &[
    ("isSorted sum max min indexOf lastIndexOf", "", Price::Items),
    ("url", "", Price::Same),
    ("lowerAscii upperAscii substring trim", "", Price::Same),
    ("replace", "", Price::Replace),
    ("split", "", Price::Split),
    ("join", "", Price::Join),
    ("find findAll", "", Price::Find),
    ("cidr isIP isCIDR", "", Price::Traversal(1.0)),
    ("ip", "net.CIDR", Price::Step),
    ("ip", "", Price::Traversal(1.0)),
    ("ip.isCanonical", "", Price::Traversal(2.0)),
    ("containsIP", "string", Price::HasAddress { parses: true }),
    ("containsIP", "", Price::HasAddress { parses: false }),
    ("containsCIDR", "string", Price::HasNetwork { parses: true }),
    ("containsCIDR", "", Price::HasNetwork { parses: false }),
    (
        "quantity isQuantity semver isSemver",
        "",
        Price::Traversal(1.0),
    ),
    ("validate", "", Price::Format),
    ("format", "", Price::Template),
    ("bytes", "string", Price::ToBytes),
    ("string", "bytes", Price::ToText),
    ("strings.quote", "", Price::Quote),
    ("startsWith endsWith", "", Price::Affix),
    ("@in", "list", Price::InList),
    (".matches", "", Price::Matches),
    ("contains", "", Price::Contains),
    ("_&&_ _||_", "", Price::And),
    ("_?_:_", "", Price::Choice),
    ("_+_", "string", Price::JoinTexts),
    ("_+_", "bytes", Price::JoinTexts),
    ("_+_", "list", Price::JoinLists),
    ("_<_ _<=_ _>_ _>=_", "string", Price::Compare),
    ("_<_ _<=_ _>_ _>=_", "bytes", Price::Compare),
    ("_==_", "", Price::Equal),
    ("_!=_", "", Price::Compare),
    ("slice", "", Price::Slice),
    ("lists.range", "", Price::Numbers),
    ("reverse", "", Price::Reverse),
    ("flatten", "", Price::Flatten),
    ("distinct", "", Price::Distinct),
    ("sort", "", Price::Sort),
    ("@sortByAssociatedKeys", "", Price::SortBy),
    ("sets.contains sets.intersects", "", Price::Sets(1.0)),
    ("sets.equivalent", "", Price::Sets(2.0)),
];

impl Price {
    /// What a call costs when it runs. Which of several ways is taken is not looked at then.
    pub(crate) fn of_call(name: &str, overload: Option<&Overload>) -> Self {
        match of(name, overload) {
            Self::Sort | Self::SortBy if overload.is_none() => Self::Step,
            price => price,
        }
    }
}

/// What a way to call a function costs.
pub(super) fn of(name: &str, overload: Option<&Overload>) -> Price {
    let member = overload.is_some_and(|overload| overload.member);
    let last = overload.and_then(|overload| overload.arguments.last());
    let last = match last {
        Some(Type::Plain(name) | Type::Of(name, _)) => name,
        _ => "",
    };
    let row = PRICES.iter().find(|(names, of, _)| {
        let called = |row: &str| match row.strip_prefix('.') {
            Some(row) => member && row == name,
            None => row == name,
        };
        (of.is_empty() || *of == last) && names.split(' ').any(called)
    });
    row.map_or(Price::Step, |(_, _, price)| *price)
}
