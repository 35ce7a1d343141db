//! What expressions of admission may speak of, and how they are compiled: `plugin/cel/compile.go`.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use crate::crd::cel::{Program, Type, check, named};

const BOOL: Type = Type::Plain("bool");
const INT: Type = Type::Plain("int");
const STRING: Type = Type::Plain("string");
const TIMESTAMP: Type = Type::Plain("timestamp");

/// The variables of an expression.
#[derive(Clone, Debug, Default)]
pub(crate) struct Environment {
    /// Whether there are parameters.
    pub(crate) params: bool,
    /// Whether the authorizer may be asked.
    pub(crate) authorizer: bool,
    /// What was worked out before, by its name; none where nothing can be.
    pub(crate) composed: Option<BTreeMap<String, Type>>,
}

/// What an expression has to come out as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wanted {
    Bool,
    String,
    StringOrNull,
    Anything,
}

impl Environment {
    /// # Errors
    /// Why it doesn't compile, as the API server tells it.
    pub(crate) fn compile(&self, source: &str, wanted: Wanted) -> Result<(Program, Type), String> {
        let checked = check(source, &self.variables());
        let checked = checked.map_err(|why| format!("compilation failed: {why}"))?;
        let types: &[Type] = match wanted {
            Wanted::Anything => &[],
            Wanted::Bool => &[BOOL],
            Wanted::String => &[STRING],
            Wanted::StringOrNull => &[STRING, Type::Plain("null")],
        };
        if !types.is_empty() && !types.contains(&checked.of) {
            let found = named(&checked.of);
            let known: Vec<String> = types.iter().map(named).collect();
            return Err(match known.as_slice() {
                [one] => format!("must evaluate to {one} but got {found}"),
                some => format!(
                    "must evaluate to one of [{}] but got {found}",
                    some.join(" ")
                ),
            });
        }
        let program = Program::new(&checked);
        let program = program.map_err(|why| format!("program instantiation failed: {why}"))?;
        Ok((program, checked.of))
    }

    /// With what an expression is worked out to under a name.
    pub(crate) fn add(&mut self, name: &str, of: &Type) {
        let composed = self.composed.get_or_insert_default();
        composed.insert(name.to_owned(), kept(of));
    }

    fn variables(&self) -> Vec<(&'static str, Type)> {
        let mut all = vec![
            ("object", Type::Dyn),
            ("oldObject", Type::Dyn),
            ("request", REQUEST.clone()),
            ("namespaceObject", NAMESPACE.clone()),
        ];
        if self.params {
            all.push(("params", Type::Dyn));
        }
        if self.authorizer {
            let of = |name| Type::Plain(name);
            all.push(("authorizer", of("kubernetes.authorization.Authorizer")));
            all.push((
                "authorizer.requestResource",
                of("kubernetes.authorization.ResourceCheck"),
            ));
        }
        if let Some(composed) = &self.composed {
            let fields = composed.iter();
            let fields = fields.map(|(name, of)| (name.as_str(), of.clone()));
            all.push(("variables", Type::object("kubernetes.variables", fields)));
        }
        all
    }
}

/// The type that a variable has to others: of messages and the like nothing is known.
fn kept(of: &Type) -> Type {
    match of {
        Type::Of(name @ ("list" | "map"), parts) => {
            Type::Of(name, parts.iter().map(kept).collect())
        }
        Type::Plain(
            "bool" | "bytes" | "double" | "duration" | "int" | "null" | "string" | "timestamp"
            | "uint",
        ) => of.clone(),
        _ => Type::Dyn,
    }
}

static REQUEST: LazyLock<Type> = LazyLock::new(|| {
    let kind = Type::object(
        "kubernetes.GroupVersionKind",
        [("group", STRING), ("version", STRING), ("kind", STRING)],
    );
    let resource = Type::object(
        "kubernetes.GroupVersionResource",
        [("group", STRING), ("version", STRING), ("resource", STRING)],
    );
    let user = Type::object(
        "kubernetes.UserInfo",
        [
            ("username", STRING),
            ("uid", STRING),
            ("groups", Type::list(STRING)),
            ("extra", Type::map(STRING, Type::list(STRING))),
        ],
    );
    Type::object(
        "kubernetes.AdmissionRequest",
        [
            ("kind", kind.clone()),
            ("resource", resource.clone()),
            ("subResource", STRING),
            ("requestKind", kind),
            ("requestResource", resource),
            ("requestSubResource", STRING),
            ("name", STRING),
            ("namespace", STRING),
            ("operation", STRING),
            ("userInfo", user),
            ("dryRun", BOOL),
            ("options", Type::Dyn),
        ],
    )
});

static NAMESPACE: LazyLock<Type> = LazyLock::new(|| {
    let condition = Type::object(
        "kubernetes.NamespaceCondition",
        [
            ("status", STRING),
            ("type", STRING),
            ("lastTransitionTime", TIMESTAMP),
            ("message", STRING),
            ("reason", STRING),
        ],
    );
    let metadata = Type::object(
        "kubernetes.NamespaceMetadata",
        [
            ("name", STRING),
            ("generateName", STRING),
            ("namespace", STRING),
            ("labels", Type::map(STRING, STRING)),
            ("annotations", Type::map(STRING, STRING)),
            ("UID", STRING),
            ("creationTimestamp", TIMESTAMP),
            ("deletionGracePeriodSeconds", INT),
            ("deletionTimestamp", TIMESTAMP),
            ("generation", INT),
            ("resourceVersion", STRING),
            ("finalizers", Type::list(STRING)),
        ],
    );
    let spec = Type::object(
        "kubernetes.NamespaceSpec",
        [("finalizers", Type::list(STRING))],
    );
    let status = Type::object(
        "kubernetes.NamespaceStatus",
        [("conditions", Type::list(condition)), ("phase", STRING)],
    );
    Type::object(
        "kubernetes.Namespace",
        [("metadata", metadata), ("spec", spec), ("status", status)],
    )
});
