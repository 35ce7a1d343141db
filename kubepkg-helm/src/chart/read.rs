//! `Chart.yaml`, `requirements.yaml` and lock files into their fields.

use serde_json::Value;

use super::{ChartError, Lock, Metadata};
use crate::go::decode::{GoField, GoStruct, GoType, check_strictly, decode_yaml};

const fn text(json: &'static str) -> GoField {
    GoField {
        json,
        ty: &GoType::Text,
    }
}

static TEXTS: GoType = GoType::Slice(&GoType::Text);
static ANYS: GoType = GoType::Slice(&GoType::Any);
static TEXT_MAP: GoType = GoType::Map(&GoType::Text);
static MAINTAINER: GoType = GoType::Struct(&GoStruct {
    name: "Maintainer",
    printed: "v2.Maintainer",
    fields: &[text("name"), text("email"), text("url")],
});
static MAINTAINERS: GoType = GoType::Slice(&GoType::Pointer(&MAINTAINER));
static DEPENDENCY: GoType = GoType::Struct(&GoStruct {
    name: "Dependency",
    printed: "v2.Dependency",
    fields: &[
        text("name"),
        text("version"),
        text("repository"),
        text("condition"),
        GoField {
            json: "tags",
            ty: &TEXTS,
        },
        GoField {
            json: "enabled",
            ty: &GoType::Bool,
        },
        GoField {
            json: "import-values",
            ty: &ANYS,
        },
        text("alias"),
    ],
});
static DEPENDENCIES: GoType = GoType::Slice(&GoType::Pointer(&DEPENDENCY));
static METADATA: GoType = GoType::Struct(&GoStruct {
    name: "Metadata",
    printed: "v2.Metadata",
    fields: &[
        text("name"),
        text("home"),
        GoField {
            json: "sources",
            ty: &TEXTS,
        },
        text("version"),
        text("description"),
        GoField {
            json: "keywords",
            ty: &TEXTS,
        },
        GoField {
            json: "maintainers",
            ty: &MAINTAINERS,
        },
        text("icon"),
        text("apiVersion"),
        text("condition"),
        text("tags"),
        text("appVersion"),
        GoField {
            json: "deprecated",
            ty: &GoType::Bool,
        },
        GoField {
            json: "annotations",
            ty: &TEXT_MAP,
        },
        text("kubeVersion"),
        GoField {
            json: "dependencies",
            ty: &DEPENDENCIES,
        },
        text("type"),
    ],
});
static LOCK: GoType = GoType::Struct(&GoStruct {
    name: "Lock",
    printed: "v2.Lock",
    fields: &[
        GoField {
            json: "generated",
            ty: &GoType::Time,
        },
        text("digest"),
        GoField {
            json: "dependencies",
            ty: &DEPENDENCIES,
        },
    ],
});

static HEAD: GoType = GoType::Struct(&GoStruct {
    name: "chartBase",
    printed: "loader.chartBase",
    fields: &[text("apiVersion")],
});

/// Go decodes into what is there: the fields of a struct one by one, the items of a list into those at their places.
fn overlay(into: &mut Value, from: Value) {
    match (into, from) {
        (Value::Object(into), Value::Object(from)) => {
            for (key, value) in from {
                match into.get_mut(&key) {
                    // The items of this list are of any type, so nothing of them stays.
                    Some(old) if key != "import-values" => overlay(old, value),
                    _ => {
                        into.insert(key, value);
                    }
                }
            }
        }
        (Value::Array(into), Value::Array(from)) => {
            let mut old = std::mem::take(into).into_iter();
            for mut value in from {
                if let Some(mut under) = old
                    .next()
                    .filter(|under| under.is_object() && value.is_object())
                {
                    overlay(&mut under, value);
                    value = under;
                }
                into.push(value);
            }
        }
        (into, from) => *into = from,
    }
}

/// Helm finds out a chart's format before it reads the rest, and words errors of that step differently.
pub(super) fn check_head(text: &[u8]) -> Result<(), ChartError> {
    let load = |message| ChartError::File {
        file: "Chart.yaml",
        message,
    };
    decode_yaml(text, &HEAD).map_err(load)?;
    Ok(())
}

impl Metadata {
    /// Reads the text of `Chart.yaml`, without validating it.
    ///
    /// # Errors
    /// The text that Go's decoder gives when the file is no YAML or a field has the wrong type.
    pub fn from_yaml(text: &[u8]) -> Result<Self, ChartError> {
        Self::decode(text).map_err(|message| ChartError::File {
            file: "Chart.yaml",
            message,
        })
    }

    /// Reads the text of `Chart.yaml` as [`Metadata::from_yaml`]; the error is the decoder's alone.
    pub(crate) fn decode(text: &[u8]) -> Result<Self, String> {
        let mut metadata = Self::default();
        metadata.decode_over(text)?;
        Ok(metadata)
    }

    /// Whether `Chart.yaml` has known keys only, and each once.
    pub(crate) fn check_strictly(text: &[u8]) -> Result<(), String> {
        check_strictly(text, &METADATA)
    }

    /// Reads `text` over what is already there, as Go's decoder does: what the text does not name stays, within the
    /// items of a list too. This is how `requirements.yaml` joins `Chart.yaml`.
    pub(crate) fn read_over(&mut self, file: &'static str, text: &[u8]) -> Result<(), ChartError> {
        self.decode_over(text)
            .map_err(|message| ChartError::File { file, message })
    }

    fn decode_over(&mut self, text: &[u8]) -> Result<(), String> {
        let Some(read) = decode_yaml(text, &METADATA)? else {
            return Ok(());
        };
        let lists_dependencies =
            self.lists_dependencies || read.get("dependencies").is_some_and(Value::is_array);
        let mut merged = read;
        if *self != Self::default() {
            let over = std::mem::replace(
                &mut merged,
                serde_json::to_value(&*self).map_err(|error| error.to_string())?,
            );
            overlay(&mut merged, over);
        }
        *self = serde_json::from_value(merged).map_err(|error| error.to_string())?;
        self.lists_dependencies = lists_dependencies;
        Ok(())
    }

    /// `Chart.yaml` as Helm writes it: keys in order, comments and unknown keys gone.
    ///
    /// # Errors
    /// [`ChartError::File`] when the metadata has no YAML form.
    pub fn to_yaml(&self) -> Result<String, ChartError> {
        let failed = |message: String| ChartError::File {
            file: "Chart.yaml",
            message,
        };
        let value = serde_json::to_value(self).map_err(|error| failed(error.to_string()))?;
        kubepkg_yaml::to_yaml(&value).map_err(|error| failed(error.to_string()))
    }
}

impl Lock {
    /// The file as Helm writes it: keys in order, the list of dependencies always there.
    ///
    /// # Errors
    /// [`ChartError::File`] when the lock has no YAML form.
    pub fn to_yaml(&self) -> Result<String, ChartError> {
        let failed = |message: String| ChartError::File {
            file: "Chart.lock",
            message,
        };
        let mut written = self.clone();
        if let Ok(time) = crate::go::time::normalise(&self.generated) {
            written.generated = time;
        }
        let value = serde_json::to_value(written).map_err(|error| failed(error.to_string()))?;
        kubepkg_yaml::to_yaml(&value).map_err(|error| failed(error.to_string()))
    }

    /// Reads the text of a lock file; `None` when it is empty or null.
    ///
    /// # Errors
    /// The text that Go's decoder gives when the file is no YAML or a field has the wrong type.
    pub fn read(text: &[u8]) -> Result<Option<Self>, ChartError> {
        Self::from_yaml("Chart.lock", text)
    }

    pub(crate) fn from_yaml(file: &'static str, text: &[u8]) -> Result<Option<Self>, ChartError> {
        let load = |message: String| ChartError::File { file, message };
        let Some(read) = decode_yaml(text, &LOCK).map_err(load)? else {
            return Ok(None);
        };
        serde_json::from_value(read)
            .map(Some)
            .map_err(|error| load(error.to_string()))
    }
}
