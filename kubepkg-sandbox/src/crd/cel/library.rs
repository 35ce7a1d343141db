//! The functions of the API server's CEL, by their types.
//!
//! Taken from the declarations of cel-go 0.26 (`common/stdlib`, `ext`) and of `k8s.io/apiserver/pkg/cel/library`
//! 0.36, for the libraries of `environment/base.go`.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use super::fit::Type;

/// One way to call a function.
#[derive(Debug)]
pub(super) struct Overload {
    /// Whether the first argument stands before a dot.
    pub(super) member: bool,
    pub(super) arguments: Vec<Type>,
    pub(super) result: Type,
}

/// A function a line: its name, and ways to call it, parted by `;`: arguments, and what comes out. Arguments of members
/// are `target.(others)`. Capitals are variables.
const DECLARATIONS: &str = "
_?_:_ = (bool, A, A) A
_&&_ = (bool, bool) bool
_||_ = (bool, bool) bool
!_ = (bool) bool
@not_strictly_false = (bool) bool
_==_ = (A, A) bool
_!=_ = (A, A) bool
_+_ = (bytes, bytes) bytes; (double, double) double; (duration, duration) duration; (duration, timestamp) timestamp; (timestamp, duration) timestamp; (int, int) int; (list(A), list(A)) list(A); (string, string) string; (uint, uint) uint
_/_ = (double, double) double; (int, int) int; (uint, uint) uint
_%_ = (int, int) int; (uint, uint) uint
_*_ = (double, double) double; (int, int) int; (uint, uint) uint
-_ = (double) double; (int) int
_-_ = (double, double) double; (duration, duration) duration; (int, int) int; (timestamp, duration) timestamp; (timestamp, timestamp) duration; (uint, uint) uint
_<_ = COMPARED
_<=_ = COMPARED
_>_ = COMPARED
_>=_ = COMPARED
_[_] = (list(A), int) A; (map(A, B), A) B; (optional_type(list(A)), int) optional_type(A); (optional_type(map(A, B)), A) optional_type(B)
_[?_] = (list(A), int) optional_type(A); (optional_type(list(A)), int) optional_type(A); (map(A, B), A) optional_type(B); (optional_type(map(A, B)), A) optional_type(B)
@in = (A, list(A)) bool; (A, map(A, B)) bool
size = (bytes) int; bytes.() int; (list(A)) int; list(A).() int; (map(A, B)) int; map(A, B).() int; (string) int; string.() int
type = (A) type(A)
bool = (bool) bool; (string) bool
bytes = (bytes) bytes; (string) bytes
double = (double) double; (int) double; (string) double; (uint) double
duration = (duration) duration; (int) duration; (string) duration
dyn = (A) dyn
int = (int) int; (double) int; (duration) int; (string) int; (timestamp) int; (uint) int
string = (string) string; (bool) string; (bytes) string; (double) string; (duration) string; (int) string; (timestamp) string; (uint) string; (net.IP) string; (net.CIDR) string
timestamp = (timestamp) timestamp; (int) timestamp; (string) timestamp
uint = (uint) uint; (double) uint; (int) uint; (string) uint
contains = string.(string) bool
endsWith = string.(string) bool
startsWith = string.(string) bool
matches = (string, string) bool; string.(string) bool
getFullYear = timestamp.() int; timestamp.(string) int
getMonth = timestamp.() int; timestamp.(string) int
getDayOfYear = timestamp.() int; timestamp.(string) int
getDayOfMonth = timestamp.() int; timestamp.(string) int
getDate = timestamp.() int; timestamp.(string) int
getDayOfWeek = timestamp.() int; timestamp.(string) int
getHours = timestamp.() int; timestamp.(string) int; duration.() int
getMinutes = timestamp.() int; timestamp.(string) int; duration.() int
getSeconds = timestamp.() int; timestamp.(string) int; duration.() int
getMilliseconds = timestamp.() int; timestamp.(string) int; duration.() int
charAt = string.(int) string
indexOf = string.(string) int; string.(string, int) int; list(A).(A) int
lastIndexOf = string.(string) int; string.(string, int) int; list(A).(A) int
lowerAscii = string.() string
upperAscii = string.() string
replace = string.(string, string) string; string.(string, string, int) string
split = string.(string) list(string); string.(string, int) list(string)
substring = string.(int) string; string.(int, int) string
trim = string.() string
format = string.(list(dyn)) string
strings.quote = (string) string
join = list(string).() string; list(string).(string) string
slice = list(A).(int, int) list(A)
flatten = list(list(A)).() list(A); list(dyn).(int) list(dyn)
sort = SORTED
lists.range = (int) list(int)
reverse = list(A).() list(A)
distinct = list(A).() list(A)
first = list(A).() optional_type(A)
last = list(A).() optional_type(A)
@sortByAssociatedKeys = SORTED BY KEYS
cel.@mapInsert = (map(A, B), A, B) map(A, B); (map(A, B), map(A, B)) map(A, B)
sets.contains = (list(A), list(A)) bool
sets.equivalent = (list(A), list(A)) bool
sets.intersects = (list(A), list(A)) bool
isSorted = ORDERED bool
sum = list(int).() int; list(uint).() uint; list(double).() double; list(duration).() duration
max = EXTREME
min = EXTREME
optional.of = (A) optional_type(A)
optional.ofNonZeroValue = (A) optional_type(A)
optional.none = () optional_type(A)
value = optional_type(A).() A
hasValue = optional_type(A).() bool
or = optional_type(A).(optional_type(A)) optional_type(A)
orValue = optional_type(A).(A) A
optional.unwrap = (list(optional_type(A))) list(A)
unwrapOpt = list(optional_type(A)).() list(A)
find = string.(string) string
findAll = string.(string) list(string); string.(string, int) list(string)
url = (string) kubernetes.URL
getScheme = kubernetes.URL.() string
getHost = kubernetes.URL.() string
getHostname = kubernetes.URL.() string
getPort = kubernetes.URL.() string
getEscapedPath = kubernetes.URL.() string
getQuery = kubernetes.URL.() map(string, list(string))
isURL = (string) bool
quantity = (string) kubernetes.Quantity
isQuantity = (string) bool
sign = (kubernetes.Quantity) int
isGreaterThan = kubernetes.Quantity.(kubernetes.Quantity) bool; kubernetes.Semver.(kubernetes.Semver) bool
isLessThan = kubernetes.Quantity.(kubernetes.Quantity) bool; kubernetes.Semver.(kubernetes.Semver) bool
compareTo = kubernetes.Quantity.(kubernetes.Quantity) int; kubernetes.Semver.(kubernetes.Semver) int
asApproximateFloat = kubernetes.Quantity.() double
asInteger = kubernetes.Quantity.() int
isInteger = kubernetes.Quantity.() bool
add = kubernetes.Quantity.(kubernetes.Quantity) kubernetes.Quantity; kubernetes.Quantity.(int) kubernetes.Quantity
sub = kubernetes.Quantity.(kubernetes.Quantity) kubernetes.Quantity; kubernetes.Quantity.(int) kubernetes.Quantity
ip = (string) net.IP; net.CIDR.() net.IP
family = net.IP.() int
ip.isCanonical = (string) bool
isUnspecified = net.IP.() bool
isLoopback = net.IP.() bool
isLinkLocalMulticast = net.IP.() bool
isLinkLocalUnicast = net.IP.() bool
isGlobalUnicast = net.IP.() bool
isIP = (string) bool
cidr = (string) net.CIDR
containsIP = net.CIDR.(string) bool; net.CIDR.(net.IP) bool
containsCIDR = net.CIDR.(string) bool; net.CIDR.(net.CIDR) bool
prefixLength = net.CIDR.() int
masked = net.CIDR.() net.CIDR
isCIDR = (string) bool
format.named = (string) optional_type(kubernetes.NamedFormat)
validate = kubernetes.NamedFormat.(string) optional_type(list(string))
semver = (string) kubernetes.Semver; (string, bool) kubernetes.Semver
isSemver = (string) bool; (string, bool) bool
major = kubernetes.Semver.() int
minor = kubernetes.Semver.() int
patch = kubernetes.Semver.() int
path = kubernetes.authorization.Authorizer.(string) kubernetes.authorization.PathCheck
group = kubernetes.authorization.Authorizer.(string) kubernetes.authorization.GroupCheck
serviceAccount = kubernetes.authorization.Authorizer.(string, string) kubernetes.authorization.Authorizer
resource = kubernetes.authorization.GroupCheck.(string) kubernetes.authorization.ResourceCheck
subresource = kubernetes.authorization.ResourceCheck.(string) kubernetes.authorization.ResourceCheck
namespace = kubernetes.authorization.ResourceCheck.(string) kubernetes.authorization.ResourceCheck
name = kubernetes.authorization.ResourceCheck.(string) kubernetes.authorization.ResourceCheck
fieldSelector = kubernetes.authorization.ResourceCheck.(string) kubernetes.authorization.ResourceCheck
labelSelector = kubernetes.authorization.ResourceCheck.(string) kubernetes.authorization.ResourceCheck
check = kubernetes.authorization.PathCheck.(string) kubernetes.authorization.Decision; kubernetes.authorization.ResourceCheck.(string) kubernetes.authorization.Decision
allowed = kubernetes.authorization.Decision.() bool
reason = kubernetes.authorization.Decision.() string
error = kubernetes.authorization.Decision.() string
errored = kubernetes.authorization.Decision.() bool
";

/// The formats that have a function each.
const FORMATS: &[&str] = &[
    "dns1123Label",
    "dns1123Subdomain",
    "dns1035Label",
    "qualifiedName",
    "dns1123LabelPrefix",
    "dns1123SubdomainPrefix",
    "dns1035LabelPrefix",
    "labelValue",
    "uri",
    "uuid",
    "byte",
    "date",
    "datetime",
];

const COMPARABLE: &[&str] = &[
    "int",
    "uint",
    "double",
    "bool",
    "duration",
    "timestamp",
    "string",
    "bytes",
];

/// Types without parts.
const PLAIN: &[&str] = &[
    "bool",
    "bytes",
    "double",
    "duration",
    "int",
    "kubernetes.NamedFormat",
    "kubernetes.Quantity",
    "kubernetes.authorization.Authorizer",
    "kubernetes.authorization.Decision",
    "kubernetes.authorization.GroupCheck",
    "kubernetes.authorization.PathCheck",
    "kubernetes.authorization.ResourceCheck",
    "kubernetes.Semver",
    "kubernetes.URL",
    "net.CIDR",
    "net.IP",
    "string",
    "timestamp",
    "uint",
];

/// The ways to call a function; none when there is no such function.
pub(super) fn overloads(name: &str) -> Option<&'static [Overload]> {
    static ALL: LazyLock<BTreeMap<String, Vec<Overload>>> = LazyLock::new(all);
    ALL.get(name).map(Vec::as_slice)
}

fn all() -> BTreeMap<String, Vec<Overload>> {
    let mut all = BTreeMap::new();
    for line in DECLARATIONS.lines() {
        let Some((name, ways)) = line.split_once(" = ") else {
            continue;
        };
        let each = |form: &dyn Fn(&str) -> String| {
            let ways: Vec<String> = COMPARABLE.iter().map(|of| form(of)).collect();
            ways.join("; ")
        };
        let ways = match ways {
            "COMPARED" => {
                let mixed = "(int, double) bool; (int, uint) bool; (uint, double) bool; (uint, int) bool; \
                    (double, int) bool; (double, uint) bool";
                format!("{}; {mixed}", each(&|of| format!("({of}, {of}) bool")))
            }
            "SORTED BY KEYS" => each(&|of| format!("list(A).(list({of})) list(A)")),
            "SORTED" => each(&|of| format!("list({of}).() list({of})")),
            "EXTREME" => each(&|of| format!("list({of}).() {of}")),
            "ORDERED bool" => each(&|of| format!("list({of}).() bool")),
            plain => plain.to_owned(),
        };
        let ways = ways.split("; ").filter_map(overload).collect();
        all.insert(name.to_owned(), ways);
    }
    for format in FORMATS {
        let overload = Overload {
            member: false,
            arguments: Vec::new(),
            result: Type::Plain("kubernetes.NamedFormat"),
        };
        all.insert(format!("format.{format}"), vec![overload]);
    }
    all
}

/// `(A, B) C` or `T.(A) C`.
fn overload(text: &str) -> Option<Overload> {
    let (mut arguments, rest, member) = if text.starts_with('(') {
        (Vec::new(), text, false)
    } else {
        let (target, rest) = text.split_at(text.find(".(")?);
        (vec![of_text(target).0?], rest.get(1..)?, true)
    };
    let mut rest = rest.strip_prefix('(')?;
    while !rest.starts_with(')') {
        let (argument, after) = of_text(rest.trim_start_matches([',', ' ']));
        arguments.push(argument?);
        rest = after;
    }
    let result = of_text(rest.get(1..)?.trim_start()).0?;
    Some(Overload {
        member,
        arguments,
        result,
    })
}

/// A type, and what stands after it.
fn of_text(text: &str) -> (Option<Type>, &str) {
    let end = text
        .find(|sign: char| !sign.is_ascii_alphanumeric() && sign != '.' && sign != '_')
        .unwrap_or(text.len());
    let (name, mut rest) = text.split_at(end);
    let mut parts = Vec::new();
    if let Some(inner) = rest.strip_prefix('(') {
        rest = inner;
        while !rest.starts_with(')') && !rest.is_empty() {
            let (part, after) = of_text(rest.trim_start_matches([',', ' ']));
            let Some(part) = part else {
                return (None, after);
            };
            parts.push(part);
            rest = after;
        }
        rest = rest.get(1..).unwrap_or_default();
    }
    let found = match name {
        "A" => Type::Var(0),
        "B" => Type::Var(1),
        "dyn" => Type::Dyn,
        "list" => Type::Of("list", parts),
        "map" => Type::Of("map", parts),
        "optional_type" => Type::Of("optional_type", parts),
        "type" => Type::Of("type", parts),
        plain => match PLAIN.iter().find(|known| **known == plain) {
            Some(known) => Type::Plain(known),
            None => return (None, rest),
        },
    };
    (Some(found), rest)
}

/// The type of an identifier that names a type.
pub(super) fn named(name: &str) -> Option<Type> {
    let of = |of: Type| Some(Type::Of("type", vec![of]));
    match name {
        "bool" | "bytes" | "double" | "int" | "string" | "uint" => {
            let known = PLAIN.iter().find(|known| **known == name)?;
            of(Type::Plain(known))
        }
        "list" => of(Type::list(Type::Dyn)),
        "map" => of(Type::map(Type::Dyn, Type::Dyn)),
        "null_type" => of(Type::Plain("null")),
        "type" => of(Type::Of("type", Vec::new())),
        "optional_type" => of(Type::optional(Type::Dyn)),
        "google.protobuf.Duration" => of(Type::Plain("duration")),
        "google.protobuf.Timestamp" => of(Type::Plain("timestamp")),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_declaration_is_read_whole() {
        for line in DECLARATIONS.lines().filter(|line| !line.is_empty()) {
            let (name, ways) = line.split_once(" = ").unwrap();
            let found = overloads(name).unwrap();
            assert!(found.len() >= ways.split("; ").count(), "{line}");
        }
        let sum = &overloads("getQuery").unwrap()[0];
        assert!(sum.member);
        assert_eq!(sum.result.to_string(), "map(string, list(string))");
    }
}
