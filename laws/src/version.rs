//! Versions and constraints: one reads back what it writes, and an answer has its reason.

use kubepkg_resolve::{Constraint, Version, satisfies};

use crate::guard::soon;
use crate::parts;

/// Parts: versions, and a constraint last.
pub(crate) fn check(input: &[u8]) {
    let mut texts: Vec<_> = parts::split(input).map(parts::text).collect();
    let constraint = texts.pop().unwrap_or_default();
    let parsed = soon("reading a constraint", || Constraint::parse(&constraint));
    if let Ok(parsed) = &parsed {
        let text = parsed.to_string();
        let again = Constraint::parse(&text).expect("a constraint that was written");
        assert_eq!(again.to_string(), text, "written again");
    }
    let mut versions = Vec::new();
    for text in &texts {
        let Ok(version) = soon("reading a version", || Version::parse(text)) else {
            assert!(
                Version::parse_strict(text).is_err(),
                "strictly, but not leniently"
            );
            assert!(
                Version::parse_published(text).is_err(),
                "published, but not lenient"
            );
            continue;
        };
        let written = version.to_string();
        let again = Version::parse_strict(&written).expect("a version that was written");
        assert_eq!(again, version);
        assert_eq!(again.metadata(), version.metadata());
        assert_eq!(version.original(), &**text);
        if let Ok(strict) = Version::parse_strict(text) {
            assert_eq!(strict, version);
            assert_eq!(
                strict.to_string(),
                **text,
                "a strict version is its own text"
            );
        }
        if let Some(next) = version.next_patch() {
            assert!(next > version);
        }
        if let Ok(constraint) = &parsed {
            let matches = soon("matching", || constraint.matches(&version));
            match constraint.validate(&version) {
                Ok(()) => assert!(matches, "no reason, no match"),
                Err(reasons) => assert!(!matches && !reasons.is_empty(), "reasons for a match"),
            }
            let again = Constraint::parse(&constraint.to_string()).expect("as above");
            assert_eq!(
                again.matches(&version),
                matches,
                "the constraint that was written"
            );
        }
        let _ = satisfies(text, &constraint);
        versions.push(version);
    }
    // An order: total, and the same from both sides.
    versions.sort();
    for pair in versions.windows(2) {
        let [one, two] = pair else { continue };
        assert!(one <= two, "sorted");
        assert_eq!(one.cmp(two).reverse(), two.cmp(one));
    }
}
