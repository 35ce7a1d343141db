//! Times as Go's `time.Parse` reads them by RFC 3339, with its words for what is wrong.

/// What is wrong with a text that should be a time.
pub(crate) fn offence(text: &str, micro: bool) -> Option<String> {
    let layout = if micro {
        "2006-01-02T15:04:05.000000Z07:00"
    } else {
        "2006-01-02T15:04:05Z07:00"
    };
    kubepkg_gotemplate::time::parse(layout.as_bytes(), text.as_bytes()).err()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_as_go_reads_them() {
        for good in [
            "2024-02-29T00:00:00Z",
            "2024-01-01T23:59:59.123456789+01:00",
            "0000-01-01T00:00:00Z",
            "2024-01-01T00:00:00,5Z",
            "2024-01-01T00:00:00+24:00",
        ] {
            assert_eq!(offence(good, false), None, "{good}");
        }
        // Printed by time.Parse of Go 1.26.
        for (bad, why) in [
            (
                "",
                r#"parsing time "" as "2006-01-02T15:04:05Z07:00": cannot parse "" as "2006""#,
            ),
            (
                "yesterday",
                r#"parsing time "yesterday" as "2006-01-02T15:04:05Z07:00": cannot parse "yesterday" as "2006""#,
            ),
            (
                "2024-01-01",
                r#"parsing time "2024-01-01" as "2006-01-02T15:04:05Z07:00": cannot parse "" as "T""#,
            ),
            (
                "2024-13-01T00:00:00Z",
                r#"parsing time "2024-13-01T00:00:00Z": month out of range"#,
            ),
            (
                "2023-02-29T00:00:00Z",
                r#"parsing time "2023-02-29T00:00:00Z": day out of range"#,
            ),
            (
                "2024-01-01T00:00:00+99:00",
                r#"parsing time "2024-01-01T00:00:00+99:00": time zone offset hour out of range"#,
            ),
            (
                "2024-01-01T00:00:00+23:61",
                r#"parsing time "2024-01-01T00:00:00+23:61": time zone offset minute out of range"#,
            ),
            (
                "2024-01-01T00:00:00Zx",
                r#"parsing time "2024-01-01T00:00:00Zx": extra text: "x""#,
            ),
            (
                "2024-01-01T00:00:00",
                r#"parsing time "2024-01-01T00:00:00" as "2006-01-02T15:04:05Z07:00": cannot parse "" as "Z07:00""#,
            ),
        ] {
            assert_eq!(offence(bad, false).as_deref(), Some(why));
        }
    }
}
