//! Times as Go's `time.Parse` reads them by RFC 3339, with its words for what is wrong.

/// What is wrong with a text that should be a time.
pub(crate) fn offence(text: &str, micro: bool) -> Option<String> {
    let layout = if micro {
        "2006-01-02T15:04:05.000000Z07:00"
    } else {
        "2006-01-02T15:04:05Z07:00"
    };
    read(text, micro).err().map(|why| {
        let shown = kubepkg_yaml::go_quote(text);
        match why {
            Why::Part { rest, part } => format!(
                "parsing time {shown} as \"{layout}\": cannot parse {} as \"{part}\"",
                kubepkg_yaml::go_quote(rest)
            ),
            Why::Range(what) => format!("parsing time {shown}: {what} out of range"),
            Why::Extra(rest) => {
                let rest = kubepkg_yaml::go_quote(rest);
                format!("parsing time {shown}: extra text: {rest}")
            }
        }
    })
}

enum Why<'t> {
    Part { rest: &'t str, part: &'static str },
    Range(&'static str),
    Extra(&'t str),
}

fn read(text: &str, micro: bool) -> Result<(), Why<'_>> {
    let mut rest = text;
    let year = number(&mut rest, 4, "2006")?;
    sign(&mut rest, "-")?;
    let month = within(&mut rest, "01", 1..=12, "month")?;
    sign(&mut rest, "-")?;
    let day = within(&mut rest, "02", 1..=31, "day")?;
    sign(&mut rest, "T")?;
    within(&mut rest, "15", 0..=23, "hour")?;
    sign(&mut rest, ":")?;
    within(&mut rest, "04", 0..=59, "minute")?;
    sign(&mut rest, ":")?;
    within(&mut rest, "05", 0..=59, "second")?;
    if micro {
        let digits = rest.get(1..7).filter(|_| rest.starts_with('.'));
        if digits.is_none_or(|digits| !digits.bytes().all(|byte| byte.is_ascii_digit())) {
            return Err(Why::Part {
                rest,
                part: ".000000",
            });
        }
        rest = &rest[7..];
    } else if let Some(fraction) = rest.strip_prefix('.') {
        // Go reads a fraction of any length where its layout has none.
        let end = fraction.len()
            - fraction
                .trim_start_matches(|c: char| c.is_ascii_digit())
                .len();
        if end > 0 {
            rest = &fraction[end..];
        }
    }
    zone(&mut rest)?;
    if !rest.is_empty() {
        return Err(Why::Extra(rest));
    }
    if day > days(year, month) {
        return Err(Why::Range("day"));
    }
    Ok(())
}

fn number<'t>(rest: &mut &'t str, width: usize, part: &'static str) -> Result<u32, Why<'t>> {
    let digits = rest.get(..width);
    let digits = digits.filter(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()));
    let Some(number) = digits.and_then(|digits| digits.parse().ok()) else {
        return Err(Why::Part { rest, part });
    };
    *rest = &rest[width..];
    Ok(number)
}

fn within<'t>(
    rest: &mut &'t str,
    part: &'static str,
    range: std::ops::RangeInclusive<u32>,
    name: &'static str,
) -> Result<u32, Why<'t>> {
    let number = number(rest, 2, part)?;
    if range.contains(&number) {
        Ok(number)
    } else {
        Err(Why::Range(name))
    }
}

fn sign<'t>(rest: &mut &'t str, part: &'static str) -> Result<(), Why<'t>> {
    match rest.strip_prefix(part) {
        Some(after) => {
            *rest = after;
            Ok(())
        }
        None => Err(Why::Part { rest, part }),
    }
}

fn zone<'t>(rest: &mut &'t str) -> Result<(), Why<'t>> {
    const PART: &str = "Z07:00";
    if let Some(after) = rest.strip_prefix('Z') {
        *rest = after;
        return Ok(());
    }
    let start = *rest;
    let wrong = || Why::Part {
        rest: start,
        part: PART,
    };
    let zone = rest.get(..6).ok_or_else(wrong)?;
    let bytes = zone.as_bytes();
    let digit = |at: usize| bytes[at].is_ascii_digit();
    let fits = matches!(bytes[0], b'+' | b'-')
        && bytes[3] == b':'
        && digit(1)
        && digit(2)
        && digit(4)
        && digit(5);
    if !fits {
        return Err(wrong());
    }
    *rest = &rest[6..];
    Ok(())
}

fn days(year: u32, month: u32) -> u32 {
    match month {
        4 | 6 | 9 | 11 => 30,
        2 if year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400)) => {
            29
        }
        2 => 28,
        _ => 31,
    }
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
