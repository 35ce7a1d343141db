//! Flags as Helm reads them: `--flag value`, `--flag=value`, `-f value`, `-fvalue`, anywhere among the arguments.

use std::collections::BTreeMap;

use kubepkg_helm::{ValueSources, Values};

use super::{Error, Output};

/// What a flag takes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Nothing, or `=true` and `=false`.
    Switch,
    /// A text; the last one counts.
    Text,
    /// A text, each time another.
    Many,
    /// Texts parted by commas, each time more.
    List,
    /// A text behind `=`, or nothing.
    Optional,
}

/// Name, letter, and what it takes.
pub(super) type Flags = &'static [(&'static str, Option<char>, Kind)];

/// Flags of every command.
const GLOBAL: Flags = &[
    ("namespace", Some('n'), Kind::Text),
    ("debug", None, Kind::Switch),
    ("help", Some('h'), Kind::Switch),
    ("kubeconfig", None, Kind::Text),
    ("kube-context", None, Kind::Text),
    ("registry-config", None, Kind::Text),
    ("repository-config", None, Kind::Text),
    ("repository-cache", None, Kind::Text),
    ("content-cache", None, Kind::Text),
    ("color", None, Kind::Text),
    ("colour", None, Kind::Text),
];

/// Flags that make values.
pub(super) const VALUES: Flags = &[
    ("values", Some('f'), Kind::List),
    ("set", None, Kind::Many),
    ("set-string", None, Kind::Many),
    ("set-file", None, Kind::Many),
    ("set-json", None, Kind::Many),
    ("set-literal", None, Kind::Many),
];

/// Flags that say which chart of a repository: taken, and without effect on a chart that is here.
pub(super) const SOURCE: Flags = &[
    ("version", None, Kind::Text),
    ("devel", None, Kind::Switch),
    ("keyring", None, Kind::Text),
    ("username", None, Kind::Text),
    ("password", None, Kind::Text),
    ("cert-file", None, Kind::Text),
    ("key-file", None, Kind::Text),
    ("ca-file", None, Kind::Text),
    ("insecure-skip-tls-verify", None, Kind::Switch),
    ("plain-http", None, Kind::Switch),
    ("pass-credentials", None, Kind::Switch),
];

/// Flags that work and should not be used.
const DEPRECATED: &[(&str, &str)] = &[
    ("force", "use --force-replace instead"),
    ("atomic", "use --rollback-on-failure instead"),
    (
        "hide-notes",
        "this flag has no effect for 'helm template' and will be removed in Helm 5",
    ),
    (
        "render-subchart-notes",
        "this flag has no effect for 'helm template' and will be removed in Helm 5",
    ),
];

/// The flags of a command, a line each.
pub(super) fn list(known: &[Flags]) -> String {
    let all = known.iter().copied().chain([GLOBAL]).flatten();
    let lines = all.map(|(name, letter, kind)| {
        let letter = letter.map_or("    ".into(), |letter| format!("-{letter}, "));
        let value = match kind {
            Kind::Switch => "",
            Kind::Text | Kind::Many => " TEXT",
            Kind::List => " TEXT,...",
            Kind::Optional => "[=TEXT]",
        };
        let often = if matches!(kind, Kind::Many | Kind::List) {
            " (more than once)"
        } else {
            ""
        };
        format!("  {letter}--{name}{value}{often}\n")
    });
    lines.collect()
}

/// A command line that was read.
#[derive(Default)]
pub(super) struct Arguments {
    /// What is no flag.
    pub(super) plain: Vec<String>,
    flags: BTreeMap<&'static str, Vec<String>>,
}

impl Arguments {
    pub(super) fn parse(
        words: impl Iterator<Item = String>,
        known: &[Flags],
        output: &mut Output,
    ) -> Result<Self, Error> {
        let all = || GLOBAL.iter().chain(known.iter().copied().flatten());
        let mut read = Self::default();
        let mut words = words;
        while let Some(word) = words.next() {
            if word == "--" {
                read.plain.extend(words.by_ref());
            } else if let Some(flag) = word.strip_prefix("--") {
                let (name, value) = match flag.split_once('=') {
                    Some((name, value)) => (name, Some(value.to_owned())),
                    None => (flag, None),
                };
                let Some((name, _, kind)) = all().find(|(known, ..)| *known == name) else {
                    return Err(format!("unknown flag: --{name}").into());
                };
                let value = match value {
                    Some(value) => value,
                    None if *kind == Kind::Switch => "true".into(),
                    None if *kind == Kind::Optional => String::new(),
                    None => {
                        let missing = || format!("flag needs an argument: --{name}");
                        words.next().ok_or_else(missing)?
                    }
                };
                read.take(name, *kind, value, output)?;
            } else if word.len() > 1
                && let Some(letters) = word.strip_prefix('-')
            {
                read.letters(letters, &all, &mut words, output)?;
            } else {
                read.plain.push(word);
            }
        }
        Ok(read)
    }

    /// Flags of one letter: switches may follow each other, a value may follow its flag.
    fn letters<'a, I>(
        &mut self,
        letters: &str,
        all: &impl Fn() -> I,
        words: &mut impl Iterator<Item = String>,
        output: &mut Output,
    ) -> Result<(), Error>
    where
        I: Iterator<Item = &'a (&'static str, Option<char>, Kind)>,
    {
        let mut rest = letters.chars();
        while let Some(letter) = rest.next() {
            let Some((name, _, kind)) = all().find(|(_, known, _)| *known == Some(letter)) else {
                return Err(format!("unknown shorthand flag: '{letter}' in -{letters}").into());
            };
            if *kind == Kind::Switch {
                self.take(name, *kind, "true".into(), output)?;
                continue;
            }
            let tail = rest.as_str();
            let value = match tail.strip_prefix('=').unwrap_or(tail) {
                "" => {
                    let missing = || format!("flag needs an argument: '{letter}' in -{letters}");
                    words.next().ok_or_else(missing)?
                }
                value => value.to_owned(),
            };
            return self.take(name, *kind, value, output);
        }
        Ok(())
    }

    fn take(
        &mut self,
        name: &'static str,
        kind: Kind,
        value: String,
        output: &mut Output,
    ) -> Result<(), Error> {
        if let Some((_, why)) = DEPRECATED.iter().find(|(known, _)| *known == name) {
            let line = format!("Flag --{name} has been deprecated, {why}\n");
            output.stderr.push_str(&line);
        }
        let values = self.flags.entry(name).or_default();
        match kind {
            Kind::Switch => {
                let yes = ["1", "t", "T", "TRUE", "true", "True"].contains(&value.as_str());
                let no = ["0", "f", "F", "FALSE", "false", "False"].contains(&value.as_str());
                if !yes && !no {
                    return Err(format!(
                        "invalid argument {value:?} for \"--{name}\" flag: strconv.ParseBool: parsing {value:?}: \
                         invalid syntax"
                    )
                    .into());
                }
                *values = vec![yes.to_string()];
            }
            Kind::Text | Kind::Optional => *values = vec![value],
            Kind::Many => values.push(value),
            Kind::List => values.extend(fields(&value)),
        }
        Ok(())
    }

    pub(super) fn is_on(&self, name: &str) -> bool {
        self.text(name) == Some("true")
    }

    pub(super) fn text(&self, name: &str) -> Option<&str> {
        let last = self.flags.get(name).and_then(|values| values.last());
        last.map(String::as_str)
    }

    pub(super) fn all(&self, name: &str) -> Vec<String> {
        self.flags.get(name).cloned().unwrap_or_default()
    }

    pub(super) fn namespace(&self) -> String {
        let named = self.text("namespace").filter(|name| !name.is_empty());
        let environment = std::env::var("HELM_NAMESPACE").ok();
        let environment = environment.filter(|name| !name.is_empty());
        named
            .map(str::to_owned)
            .or(environment)
            .unwrap_or_else(|| "default".into())
    }

    /// The values that the flags make.
    pub(super) fn values(&self) -> Result<Values, Error> {
        let sources = ValueSources {
            files: self.all("values"),
            json: self.all("set-json"),
            set: self.all("set"),
            strings: self.all("set-string"),
            set_files: self.all("set-file"),
            literals: self.all("set-literal"),
        };
        Ok(sources.merge(&mut read_file)?)
    }
}

/// A file, or standard input for `-`.
fn read_file(name: &str) -> Result<Vec<u8>, String> {
    if name.trim() == "-" {
        let mut text = Vec::new();
        let read = std::io::Read::read_to_end(&mut std::io::stdin().lock(), &mut text);
        return read.map(|_| text).map_err(|error| error.to_string());
    }
    std::fs::read(name).map_err(|error| {
        let why = error.to_string();
        let why = why.split(" (os error").next().unwrap_or_default();
        format!("open {name}: {}", why.to_lowercase())
    })
}

/// Texts parted by commas; one in quotes may hold a comma.
fn fields(value: &str) -> Vec<String> {
    let (mut fields, mut field, mut quoted) = (Vec::new(), String::new(), false);
    for sign in value.chars() {
        match sign {
            '"' => quoted = !quoted,
            ',' if !quoted => fields.push(std::mem::take(&mut field)),
            sign => field.push(sign),
        }
    }
    fields.push(field);
    fields
}
