//! Templates that parse: bytes choose actions, functions and arguments, so that a fuzzer gets past the parser and
//! into the functions.

use std::fmt::Write as _;

use arbitrary::{Arbitrary, Result, Unstructured};
use serde_json::json;

use crate::template::{self, FUNCTIONS};

/// Numbers at which things change, and sizes that no machine has.
const NUMBERS: &[&str] = &[
    "0",
    "1",
    "-1",
    "2",
    "3",
    "7",
    "63",
    "64",
    "255",
    "1000",
    "65536",
    "1000000000",
    "-1000000000",
    "2147483648",
    "9223372036854775807",
    "-9223372036854775808",
    "1.5",
    "-0.5",
    "1e9",
    "1e300",
    "0x7f",
    "0o17",
    "'a'",
    "1_000",
    "2i",
];
/// Texts with a meaning to some function.
const TEXTS: &[&str] = &[
    r#""""#,
    r#""a""#,
    r#""b""#,
    r#""a,b,,c""#,
    r#""héllo wörld""#,
    r#""1.2.3-rc.1+x""#,
    r#""~1.2 || >=2 <3""#,
    r#""2006-01-02T15:04:05Z07:00""#,
    r#""2024-02-30""#,
    r#""1h30m""#,
    r#""Europe/Berlin""#,
    r#""(a*)*b|[[:alpha:]]{2,5}$""#,
    r#""((a{1,100}){1,100}){1,100}""#,
    r#""${1}x$2""#,
    r#""%d %s %v %+v %#v %q %x %T %5.2f %[1]*d %!""#,
    r#""%1000000000d""#,
    r#""%-*.*f""#,
    r#""https://u:p@h.example:80/a/../b?c=d#e""#,
    r#""10.0.0.0/8""#,
    r#""2001:db8::/32""#,
    r#""a: [1, {b: c}]\n---\nd: &x e\nf: *x""#,
    r#""{\"a\": [1, 2.5, null, {\"b\": \"c\"}]}""#,
    r#""[a]\nb = 1\nc = [1, 2]""#,
    r#""YWJj""#,
    r#""MFRGG===""#,
    r#""{{ .Values.m }}""#,
    r#""{{ tpl .Values.self . }}""#,
    r#""rsa""#,
    r#""ecdsa""#,
    r#""ed25519""#,
    r#""\xff\xfe""#,
    "`a\nb\r\n c`",
    r#""aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa""#,
];
/// Places in the data.
const FIELDS: &[&str] = &[
    ".",
    "$",
    ".Values",
    ".Values.m",
    ".Values.m.a",
    ".Values.l",
    ".Values.s",
    ".Values.i",
    ".Values.b",
    ".Values.none",
    ".Values.none.x",
    ".Values.m.l",
    "$x",
    "$y",
    "nil",
    "true",
    "false",
];
/// Names that a call may have beside those of the table.
const BUILT_IN: &[&str] = &[
    "and", "or", "not", "eq", "ne", "lt", "le", "gt", "ge", "index", "slice", "len", "print",
    "printf", "println", "html", "js", "urlquery", "call",
];
/// Minutes of work by design; their own limits are tested by hand.
const SLOW: &[&str] = &[
    "genCA",
    "genCAWithKey",
    "genSelfSignedCert",
    "genSelfSignedCertWithKey",
    "genSignedCert",
    "genSignedCertWithKey",
    "genPrivateKey",
    "bcrypt",
    "htpasswd",
    "derivePassword",
];
/// Calls, actions and literals of one template.
const MOST_NODES: usize = 80;

struct Writer<'a> {
    random: Unstructured<'a>,
    nodes: usize,
    out: String,
    names: Vec<&'static str>,
}

impl Writer<'_> {
    fn choose<T: Copy>(&mut self, from: &[T]) -> Result<T> {
        self.random.choose(from).copied()
    }

    fn actions(&mut self, depth: usize) -> Result<()> {
        while self.nodes < MOST_NODES && self.random.ratio(4, 5)? {
            self.nodes += 1;
            let choice = self.random.int_in_range(0..=9)?;
            match choice {
                0..=3 => {
                    self.out.push_str("{{ ");
                    self.pipeline(0)?;
                    self.out.push_str(" }}");
                }
                4 => {
                    let name = self.choose(&["$x", "$y"])?;
                    let sign = if bool::arbitrary(&mut self.random)? {
                        ":="
                    } else {
                        "="
                    };
                    let _ = write!(self.out, "{{{{ {name} {sign} ");
                    self.pipeline(0)?;
                    self.out.push_str(" }}");
                }
                5..=7 if depth < 4 => {
                    let word =
                        self.choose(&["if", "with", "range", "range $x :=", "range $x, $y :="])?;
                    let _ = write!(self.out, "{{{{ {word} ");
                    self.pipeline(0)?;
                    self.out.push_str(" }}");
                    self.actions(depth + 1)?;
                    if self.random.ratio(1, 3)? {
                        self.out.push_str("{{ else }}");
                        self.actions(depth + 1)?;
                    }
                    self.out.push_str("{{ end }}");
                }
                8 => {
                    let name = self.choose(&["t0", "d0", "d1", "none"])?;
                    let verb = self.choose(&["template", "include"])?;
                    let _ = write!(self.out, "{{{{ {verb} \"{name}\" . }}}}");
                }
                _ => {
                    let text = self.choose(&["a", "\n  ", "---\n", "<no value>", "é"])?;
                    self.out.push_str(text);
                }
            }
        }
        Ok(())
    }

    fn pipeline(&mut self, depth: usize) -> Result<()> {
        self.operand(depth)?;
        while self.nodes < MOST_NODES && self.random.ratio(1, 4)? {
            self.out.push_str(" | ");
            self.call(depth + 1)?;
        }
        Ok(())
    }

    fn operand(&mut self, depth: usize) -> Result<()> {
        self.nodes += 1;
        if depth < 5 && self.nodes < MOST_NODES && self.random.ratio(1, 2)? {
            self.call(depth)
        } else {
            self.literal()
        }
    }

    fn literal(&mut self) -> Result<()> {
        let from = self.choose(&[NUMBERS, TEXTS, FIELDS])?;
        let literal = self.choose(from)?;
        self.out.push_str(literal);
        Ok(())
    }

    fn call(&mut self, depth: usize) -> Result<()> {
        self.nodes += 1;
        let names = std::mem::take(&mut self.names);
        let name = self.choose(&names);
        self.names = names;
        self.out.push_str(name?);
        let most = self.choose(&[0, 1, 1, 2, 2, 3, 4])?;
        for _ in 0..most {
            self.out.push(' ');
            if depth < 4 && self.nodes < MOST_NODES && self.random.ratio(1, 3)? {
                self.out.push('(');
                self.call(depth + 1)?;
                self.out.push(')');
            } else {
                self.nodes += 1;
                self.literal()?;
            }
        }
        Ok(())
    }
}

/// The template that the bytes choose.
fn template(input: &[u8]) -> Result<String> {
    let table = FUNCTIONS.names().filter(|name| !SLOW.contains(name));
    let mut writer = Writer {
        random: Unstructured::new(input),
        nodes: 0,
        out: "{{ $x := 1 }}{{ $y := dict }}".to_owned(),
        names: table.chain(BUILT_IN.iter().copied()).collect(),
    };
    writer.actions(0)?;
    let definitions = writer.random.int_in_range(0..=2)?;
    for index in 0..definitions {
        let _ = write!(
            writer.out,
            "{{{{ define \"d{index}\" }}}}{{{{ $x := . }}}}{{{{ $y := 2 }}}}"
        );
        writer.actions(0)?;
        writer.out.push_str("{{ end }}");
    }
    Ok(writer.out)
}

pub(crate) fn check(input: &[u8]) {
    let Ok(text) = template(input) else {
        return;
    };
    let data = json!({
        "m": {"a": 1, "b": {"c": [1, "x", null]}, "l": [3, 1, 2], "k": ""},
        "l": ["b", "a", 1, 2.5, null, {"a": 1}, ["n"]],
        "s": "text, more",
        "i": 5,
        "b": true,
        "self": "{{ tpl .Values.self . }}",
    });
    template::run(&[text.as_bytes()], &data);
}
