//! Laws that hold for every input.

use kubepkg_resolve::{Constraint, Detail, Version, satisfies};
use proptest::prelude::*;

fn version() -> impl Strategy<Value = String> {
    "v?[0-3](\\.[0-3]){0,2}(-(alpha|rc|0|[1-9][0-9]?|a-b)(\\.(0|[1-9][0-9]?))?)?(\\+b1)?"
}

fn constraint() -> impl Strategy<Value = String> {
    let one =
        "(|=|!=|>|<|>=|=>|<=|=<|~|~>|\\^) ?v?([0-3]|x|\\*)(\\.([0-3]|x)){0,2}(-(rc|[0-9])(\\.1)?)?";
    prop::collection::vec(prop::collection::vec(one, 1..3), 1..3).prop_map(|groups| {
        groups
            .iter()
            .map(|group| group.join(" "))
            .collect::<Vec<_>>()
            .join(" || ")
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_text_panics(a in "\\PC{0,40}", b in "[0-9xX*v.|<>=!~^, \\-+a]{0,40}") {
        for text in [&a, &b] {
            let _ = Version::parse(text);
            let _ = Version::parse_strict(text);
            let _ = Version::parse_published(text);
            let _ = Version::parse_uncoerced(text, Detail::Full);
            let _ = satisfies("1.2.3", text);
            let _ = satisfies(text, "*");
        }
    }

    #[test]
    fn order_is_total(a in version(), b in version(), c in version()) {
        let (a, b, c): (Version, Version, Version) =
            (a.parse().unwrap(), b.parse().unwrap(), c.parse().unwrap());
        prop_assert_eq!(a.cmp(&b), b.cmp(&a).reverse());
        if a <= b && b <= c {
            prop_assert!(a <= c);
        }
    }

    #[test]
    fn the_full_form_reads_back(text in version()) {
        let version: Version = text.parse().unwrap();
        let again = Version::parse_strict(&version.to_string()).unwrap();
        prop_assert_eq!(&version, &again);
        prop_assert_eq!(version.metadata(), again.metadata());
    }

    #[test]
    fn printed_constraints_mean_the_same(text in constraint(), version in version()) {
        let parsed: Constraint = text.parse().unwrap();
        let printed: Constraint = parsed.to_string().parse().unwrap();
        let version: Version = version.parse().unwrap();
        prop_assert_eq!(parsed.matches(&version), printed.matches(&version));
        prop_assert_eq!(parsed.matches(&version), parsed.validate(&version).is_ok());
        if parsed.matches(&version) {
            prop_assert!(parsed.include_prereleases(true).matches(&version));
        }
    }
}
