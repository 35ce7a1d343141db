//! Which names, labels and keys are allowed, with the messages of
//! `k8s.io/apimachinery/pkg/util/validation`.

/// At most this many bytes.
fn too_long(limit: usize) -> String {
    format!("must be no more than {limit} bytes")
}

/// The same in the words of names of DNS.
fn too_many(limit: usize) -> String {
    format!("must be no more than {limit} characters")
}

const SUBDOMAIN: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric \
    characters, '-' or '.', and must start and end with an alphanumeric character (e.g. \
    'example.com', regex used for validation is \
    '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const LABEL: &str = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters \
    or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', \
    regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
const OLD_LABEL: &str = "a DNS-1035 label must consist of lower case alphanumeric characters or '-', \
    start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or \
    'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')";
const NAME_PART: &str = "name part must consist of alphanumeric characters, '-', '_' or '.', and \
    must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or \
    '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const LABEL_VALUE: &str = "a valid label must be an empty string or consist of alphanumeric \
    characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. \
    'MyValue',  or 'my_value',  or '12345', regex used for validation is \
    '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";
const CONFIG_KEY: &str = "a valid config key must consist of alphanumeric characters, '-', '_' or \
    '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is \
    '[-._a-zA-Z0-9]+')";

fn is_label(text: &str) -> bool {
    let inner = |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit();
    let bytes = text.as_bytes();
    bytes.first().is_some_and(|&c| inner(c))
        && bytes.last().is_some_and(|&c| inner(c))
        && bytes.iter().all(|&c| inner(c) || c == b'-')
}

/// A DNS subdomain: the names of most objects.
pub(crate) fn subdomain(text: &str) -> Vec<String> {
    let mut wrong = Vec::new();
    if text.len() > 253 {
        wrong.push(too_many(253));
    }
    if !text.split('.').all(is_label) {
        wrong.push(SUBDOMAIN.to_owned());
    }
    wrong
}

/// A DNS label: the names of namespaces.
pub(crate) fn label(text: &str) -> Vec<String> {
    let mut wrong = Vec::new();
    if text.len() > 63 {
        wrong.push(too_many(63));
    }
    if !is_label(text) {
        // What is a subdomain, and no label, has dots.
        let why = if subdomain(text).is_empty() && text.len() <= 63 {
            "must not contain dots"
        } else {
            LABEL
        };
        wrong.push(why.to_owned());
    }
    wrong
}

/// A DNS label that starts with a letter: names of resources and versions.
pub(crate) fn old_label(text: &str) -> Vec<String> {
    let mut wrong = Vec::new();
    if text.len() > 63 {
        wrong.push(too_many(63));
    }
    if !is_label(text) || text.starts_with(|sign: char| sign.is_ascii_digit()) {
        wrong.push(OLD_LABEL.to_owned());
    }
    wrong
}

/// One segment of a path: the names of RBAC objects and custom resource definitions' instances.
pub(crate) fn path_segment(text: &str) -> Vec<String> {
    let mut wrong = Vec::new();
    if text == "." || text == ".." {
        wrong.push(format!("may not be '{text}'"));
    }
    for part in ["/", "%"] {
        if text.contains(part) {
            wrong.push(format!("may not contain '{part}'"));
        }
    }
    wrong
}

fn is_word(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.first().is_some_and(u8::is_ascii_alphanumeric)
        && bytes.last().is_some_and(u8::is_ascii_alphanumeric)
        && bytes
            .iter()
            .all(|c| c.is_ascii_alphanumeric() || b"-_.".contains(c))
}

/// `prefix/name`: keys of labels and annotations.
pub(crate) fn qualified_name(text: &str) -> Vec<String> {
    let mut wrong = Vec::new();
    let name = match text.split('/').collect::<Vec<_>>().as_slice() {
        [name] => *name,
        [prefix, name] => {
            if prefix.is_empty() {
                wrong.push("prefix part must be non-empty".to_owned());
            } else {
                wrong.extend(
                    subdomain(prefix)
                        .into_iter()
                        .map(|why| format!("prefix part {why}")),
                );
            }
            *name
        }
        _ => {
            return vec![format!(
                "a valid label key must consist of alphanumeric characters, '-', '_' or '.', and \
                 must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or \
                 '123-abc', regex used for validation is \
                 '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') with an optional DNS subdomain prefix \
                 and '/' (e.g. 'example.com/MyName')"
            )];
        }
    };
    if name.is_empty() {
        wrong.push("name part must be non-empty".to_owned());
    } else if name.len() > 63 {
        wrong.push(format!("name part {}", too_long(63)));
    }
    if !is_word(name) {
        wrong.push(NAME_PART.to_owned());
    }
    wrong
}

/// The value of a label.
pub(crate) fn label_value(text: &str) -> Option<String> {
    if text.len() > 63 {
        return Some(too_long(63));
    }
    (!text.is_empty() && !is_word(text)).then(|| LABEL_VALUE.to_owned())
}

/// A key of a ConfigMap or a Secret.
pub(crate) fn config_key(text: &str) -> Vec<String> {
    let mut wrong = Vec::new();
    if text.len() > 253 {
        wrong.push(too_many(253));
    }
    let known = |c: u8| c.is_ascii_alphanumeric() || b"-._".contains(&c);
    if text.is_empty() || !text.bytes().all(known) {
        wrong.push(CONFIG_KEY.to_owned());
    }
    if text == "." || text == ".." {
        wrong.push(format!("must not be '{text}'"));
    } else if text.starts_with("..") {
        wrong.push("must not start with '..'".to_owned());
    }
    wrong
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_what_dns_allows() {
        assert!(subdomain("a.b-c.d1").is_empty());
        assert!(!subdomain("a..b").is_empty() && !subdomain("A").is_empty());
        assert!(label("a-b").is_empty() && !label("a.b").is_empty());
        assert!(qualified_name("a.io/B_c").is_empty() && qualified_name("b").is_empty());
        assert!(!qualified_name("a/b/c").is_empty() && !qualified_name("/b").is_empty());
        assert_eq!(label_value(""), None);
    }
}
