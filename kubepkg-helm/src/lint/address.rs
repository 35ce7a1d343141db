//! What Helm takes for a mail address and for a web address: the patterns and checks of govalidator.

use std::sync::LazyLock;

use kubepkg_gotemplate::sprig::Url;
use regex::Regex;

const EMAIL: &str = r"^((((A|[0-9]|S|U)+(\.(A|[0-9]|S|U)+)*)|((\x22)((([\x20\x09]*(\x0d\x0a))?[\x20\x09]+)?(([\x01-\x08\x0b\x0c\x0e-\x1f\x7f]|\x21|[\x23-\x5b]|[\x5d-\x7e]|U)|(\([\x01-\x09\x0b\x0c\x0d-\x7f]|U))))*(([\x20\x09]*(\x0d\x0a))?[\x20\x09]+)?(\x22)))@(((A|[0-9]|U)|((A|[0-9]|U)(A|[0-9]|-|\.|_|~|U)*(A|[0-9]|U)))\.)+((A|U)|((A|U)(A|[0-9]|-|_|~|U)*(A|U)))\.?$";
const LETTER: &str = "[a-zA-Z]";
const SIGN: &str = r"[!#\$%&'\*\+\-/=\?\^_`\{\|\}~]";
const BEYOND: &str = r"[\x{00A0}-\x{D7FF}\x{F900}-\x{FDCF}\x{FDF0}-\x{FFEF}]";

static EMAIL_PATTERN: LazyLock<Option<Regex>> = LazyLock::new(|| {
    // Single capitals stand for classes that come up again and again; escapes keep theirs in lower case.
    let text = EMAIL.chars().fold(String::new(), |mut text, sign| {
        match sign {
            'A' => text.push_str(LETTER),
            'S' => text.push_str(SIGN),
            'U' => text.push_str(BEYOND),
            other => text.push(other),
        }
        text
    });
    Regex::new(&text).ok()
});

const IP: &str = r"(([0-9a-fA-F]{1,4}:){7,7}[0-9a-fA-F]{1,4}|([0-9a-fA-F]{1,4}:){1,7}:|([0-9a-fA-F]{1,4}:){1,6}:[0-9a-fA-F]{1,4}|([0-9a-fA-F]{1,4}:){1,5}(:[0-9a-fA-F]{1,4}){1,2}|([0-9a-fA-F]{1,4}:){1,4}(:[0-9a-fA-F]{1,4}){1,3}|([0-9a-fA-F]{1,4}:){1,3}(:[0-9a-fA-F]{1,4}){1,4}|([0-9a-fA-F]{1,4}:){1,2}(:[0-9a-fA-F]{1,4}){1,5}|[0-9a-fA-F]{1,4}:((:[0-9a-fA-F]{1,4}){1,6})|:((:[0-9a-fA-F]{1,4}){1,7}|:)|fe80:(:[0-9a-fA-F]{0,4}){0,4}%[0-9a-zA-Z]{1,}|::(ffff(:0{1,4}){0,1}:){0,1}((25[0-5]|(2[0-4]|1{0,1}[0-9]){0,1}[0-9])\.){3,3}(25[0-5]|(2[0-4]|1{0,1}[0-9]){0,1}[0-9])|([0-9a-fA-F]{1,4}:){1,4}:((25[0-5]|(2[0-4]|1{0,1}[0-9]){0,1}[0-9])\.){3,3}(25[0-5]|(2[0-4]|1{0,1}[0-9]){0,1}[0-9]))";
const URL_IP: &str = r"([1-9][0-9]?|1[0-9][0-9]|2[01][0-9]|22[0-3]|24[0-9]|25[0-5])(\.([0-9]{1,2}|1[0-9][0-9]|2[0-4][0-9]|25[0-5])){2}(?:\.([0-9][0-9]?|1[0-9][0-9]|2[0-4][0-9]|25[0-5]))";
const SUBDOMAIN: &str = r"((www\.)|([a-zA-Z0-9]+([-_\.]?[a-zA-Z0-9])*[a-zA-Z0-9]\.[a-zA-Z0-9]+))";
/// Go's white space, which is ASCII.
const NO_SPACE: &str = r"[^\t\n\x0c\r ]";

static URL_PATTERN: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let text = format!(
        r"^((ftp|tcp|udp|wss?|https?)://)?({NO_SPACE}+(:{NO_SPACE}*)?@)?(({URL_IP}|(\[{IP}\])|(([a-zA-Z0-9]([a-zA-Z0-9\-_]+)?[a-zA-Z0-9]([-\.][a-zA-Z0-9]+)*)|({SUBDOMAIN}?))?(([a-zA-Z\x{{00a1}}-\x{{ffff}}0-9]+-?-?)*[a-zA-Z\x{{00a1}}-\x{{ffff}}0-9]+)(?:\.([a-zA-Z\x{{00a1}}-\x{{ffff}}]{{1,}}))?))\.?(:([0-9]{{1,5}}))?((/|\?|#){NO_SPACE}*)?$"
    );
    Regex::new(&text).ok()
});

fn is_match(pattern: Option<&Regex>, text: &str) -> bool {
    pattern.is_some_and(|pattern| pattern.is_match(text))
}

/// `govalidator.IsEmail`.
pub(super) fn is_email(text: &str) -> bool {
    is_match(EMAIL_PATTERN.as_ref(), text)
}

/// `govalidator.IsURL`: a scheme is not needed, a dot in the host neither.
pub(super) fn is_url(text: &str) -> bool {
    if text.chars().count() >= 2083 || text.len() <= 3 || text.starts_with('.') {
        return false;
    }
    let with_scheme = if text.contains(':') && !text.contains("://") {
        format!("http://{text}")
    } else {
        text.to_owned()
    };
    let Ok(url) = Url::parse(with_scheme.as_bytes()) else {
        return false;
    };
    let bare_path = url.host.is_empty() && !url.path.is_empty() && !url.path.contains(&b'.');
    !url.host.starts_with(b".") && !bare_path && is_match(URL_PATTERN.as_ref(), text)
}

/// `govalidator.IsRequestURL`: an address with a scheme.
pub(super) fn is_request_url(text: &str) -> bool {
    Url::parse_request(text.as_bytes()).is_ok()
}

#[cfg(test)]
mod tests {
    use super::{is_email, is_request_url, is_url};

    /// What govalidator of 2023-03-01 says of these.
    #[test]
    fn takes_for_addresses_what_govalidator_takes() {
        let agree = |check: fn(&str) -> bool, yes: &[&str], no: &[&str]| {
            for text in yes {
                assert!(check(text), "{text}");
            }
            for text in no {
                assert!(!check(text), "{text}");
            }
        };
        agree(
            is_email,
            &[
                "ann@example.org",
                "a@b.c",
                "a.b+c@x-y.z.io",
                "ü@ö.ä",
                "a@b.de.",
                "o'neil@c.de",
                "A@B.CD",
            ],
            &[
                "bad",
                "a@b",
                "a..b@c.de",
                ".a@c.de",
                "\"q q\"@c.de",
                "\"a@b\"@c.de",
                "a@b.1c",
                "a@-b.de",
                "a@b_.de",
                "a b@c.de",
                "a@b,c.de",
                "a@1.2.3.4",
                "a@b.c1",
            ],
        );
        agree(
            is_url,
            &[
                "http://x",
                "example.org",
                "https://example.org:8080/p?q#f",
                "ftp://a.b",
                "mailto:a@b.c",
                "http://user:pw@h.io/x",
                "http://[::1]/",
                "http://1.2.3.4",
                "foo/bar.html",
                "localhost:80",
                "http://ü.de",
                "example.org.",
                "tcp://h:1",
                "www.x",
                "a.b:99999",
            ],
            &[
                "x",
                "abc",
                "abcd",
                "http://1.2.3.256",
                ".example.org",
                "http://.example.org",
                "http://a b",
                "/x.y",
                "http://-a.b",
                "http://a-.b",
                "http://a..b",
                "http://a_b.c",
                "notaurl",
                "xyz:foo",
                "http://h/%zz",
                "a.b:999999",
            ],
        );
        agree(
            is_request_url,
            &[
                "http://x",
                "a:b",
                "http://",
                "http://h/a b",
                "oci://x/y",
                "file:///x",
                "a+b:c",
            ],
            &[
                "",
                "x",
                "/x",
                "1a:b",
                "http://h#f",
                "http://a b",
                "http://h/%zz",
                ":x",
                "http://h:x",
                "git@github.com:a/b",
                "http://h\x7f",
                "http://[::1",
                "*",
            ],
        );
    }
}
