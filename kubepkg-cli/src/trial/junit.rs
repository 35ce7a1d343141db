//! Results as JUnit reads them: a suite for the package, a case for each step, a failure for each finding.
//!
//! The form is the one that Jenkins' `junit-10.xsd` describes and that GitLab and GitHub actions read.

use std::fmt::Write as _;

use super::Case;

/// The cases of a package as a document.
pub(crate) fn junit(package: &str, cases: &[Case]) -> String {
    let failed = cases
        .iter()
        .filter(|case| !case.findings.is_empty())
        .count();
    let skipped = cases
        .iter()
        .filter(|case| case.result() == "skipped")
        .count();
    let seconds: f64 = cases.iter().map(|case| case.took.as_secs_f64()).sum();
    let package = escaped(package);
    let mut text = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
         <testsuites>\n  <testsuite name=\"{package}\" tests=\"{}\" failures=\"{failed}\" \
         errors=\"0\" skipped=\"{skipped}\" time=\"{seconds:.3}\">\n",
        cases.len()
    );
    for case in cases {
        // Writing into a string cannot fail.
        let _ = write!(
            text,
            "    <testcase classname=\"{package}.{}\" name=\"{}\" time=\"{:.3}\"",
            escaped(&case.version),
            escaped(&case.step),
            case.took.as_secs_f64()
        );
        if case.result() == "ok" {
            text.push_str("/>\n");
            continue;
        }
        text.push_str(">\n");
        if case.findings.is_empty() {
            let why = escaped(&case.skipped);
            let _ = writeln!(text, "      <skipped message=\"{why}\"/>");
        }
        for finding in &case.findings {
            let place = if finding.place.is_empty() {
                String::new()
            } else {
                format!("{}: ", finding.place)
            };
            let _ = writeln!(
                text,
                "      <failure type=\"{}\" message=\"{}\">{}{}\ntry: {}</failure>",
                finding.rule,
                escaped(&format!("{}: {}", finding.object, finding.message)),
                escaped(&place),
                escaped(&format!("{}: {}", finding.object, finding.message)),
                escaped(&finding.remedy),
            );
        }
        text.push_str("    </testcase>\n");
    }
    text.push_str("  </testsuite>\n</testsuites>\n");
    text
}

/// Text for XML 1.0: characters that it cannot hold become U+FFFD.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\n' => escaped.push_str("&#10;"),
            '\t' | '\u{20}'..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'.. => {
                escaped.push(c);
            }
            _ => escaped.push('\u{fffd}'),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::trial::{Finding, Rule};

    #[test]
    fn a_case_is_ok_skipped_or_failed_with_every_finding() {
        let case = |step: &str, skipped: &str, findings: Vec<Finding>| Case {
            version: "1.0.0".into(),
            step: step.into(),
            took: Duration::from_millis(1500),
            skipped: skipped.into(),
            findings,
        };
        let finding = Finding {
            rule: Rule::Accepted,
            object: "ConfigMap shop/a".into(),
            place: "web/templates/a.yaml:3".into(),
            message: "data must be <map> & not \"list\"\u{1b}".into(),
            remedy: "write a map".into(),
        };
        let cases = [
            case("check", "", vec![finding]),
            case("install", "", Vec::new()),
            case("rollback", "no --from", Vec::new()),
        ];
        insta::assert_snapshot!(junit("shop", &cases), @r#"
        <?xml version="1.0" encoding="UTF-8"?>
        <testsuites>
          <testsuite name="shop" tests="3" failures="1" errors="0" skipped="1" time="4.500">
            <testcase classname="shop.1.0.0" name="check" time="1.500">
              <failure type="accepted" message="ConfigMap shop/a: data must be &lt;map&gt; &amp; not &quot;list&quot;�">web/templates/a.yaml:3: ConfigMap shop/a: data must be &lt;map&gt; &amp; not &quot;list&quot;�
        try: write a map</failure>
            </testcase>
            <testcase classname="shop.1.0.0" name="install" time="1.500"/>
            <testcase classname="shop.1.0.0" name="rollback" time="1.500">
              <skipped message="no --from"/>
            </testcase>
          </testsuite>
        </testsuites>
        "#);
    }
}
