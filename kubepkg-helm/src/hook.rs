//! Hooks: resources that run at a moment of a release's life instead of belonging to it.
//!
//! JSON names are those of Helm's release record.

use serde::{Deserialize, Serialize};

/// The annotation that makes a resource a hook; its value lists events.
pub const HOOK_ANNOTATION: &str = "helm.sh/hook";
/// The annotation with a hook's weight.
pub const HOOK_WEIGHT_ANNOTATION: &str = "helm.sh/hook-weight";
/// The annotation that says when a hook is deleted.
pub const HOOK_DELETE_ANNOTATION: &str = "helm.sh/hook-delete-policy";
/// The annotation that says when a hook's logs are shown.
pub const HOOK_OUTPUT_LOG_ANNOTATION: &str = "helm.sh/hook-output-log-policy";

/// An enumeration of words that keeps words it does not know.
macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($(#[$word_doc:meta])* $variant:ident = $word:literal,)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(from = "String", into = "String")]
        pub enum $name {
            $($(#[$word_doc])* $variant,)*
            /// A word that Helm 4.3.1 does not act on.
            Other(String),
        }

        impl $name {
            /// The word.
            pub fn as_str(&self) -> &str {
                match self {
                    $(Self::$variant => $word,)*
                    Self::Other(word) => word,
                }
            }
        }

        impl From<String> for $name {
            fn from(word: String) -> Self {
                match word.as_str() {
                    $($word => Self::$variant,)*
                    _ => Self::Other(word),
                }
            }
        }

        impl From<$name> for String {
            fn from(word: $name) -> Self {
                word.as_str().to_owned()
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }
    };
}

words! {
    /// A moment of a release's life.
    HookEvent {
        /// Before the resources of an install.
        PreInstall = "pre-install",
        /// After the resources of an install.
        PostInstall = "post-install",
        /// Before the resources are removed.
        PreDelete = "pre-delete",
        /// After the resources are removed.
        PostDelete = "post-delete",
        /// Before the resources of an upgrade.
        PreUpgrade = "pre-upgrade",
        /// After the resources of an upgrade.
        PostUpgrade = "post-upgrade",
        /// Before the resources of a rollback.
        PreRollback = "pre-rollback",
        /// After the resources of a rollback.
        PostRollback = "post-rollback",
        /// When the release is tested.
        Test = "test",
    }
}

words! {
    /// When a hook's resource is deleted.
    DeletePolicy {
        /// Once it succeeded.
        HookSucceeded = "hook-succeeded",
        /// Once it failed.
        HookFailed = "hook-failed",
        /// Before it is created again; what Helm does when nothing is said.
        BeforeHookCreation = "before-hook-creation",
    }
}

words! {
    /// When a hook's logs are shown.
    OutputLogPolicy {
        /// Once it succeeded.
        HookSucceeded = "hook-succeeded",
        /// Once it failed.
        HookFailed = "hook-failed",
    }
}

words! {
    /// How a hook's last run stands.
    #[derive(Default)]
    HookPhase {
        /// It never ran.
        #[default]
        Unset = "",
        /// Nobody knows.
        Unknown = "Unknown",
        /// It is running.
        Running = "Running",
        /// It succeeded.
        Succeeded = "Succeeded",
        /// It failed.
        Failed = "Failed",
    }
}

/// A hook of a release.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Hook {
    /// Name of the resource.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// Kind of the resource.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub kind: String,
    /// Path of its template, from the chart's name.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub path: String,
    /// The document.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub manifest: String,
    /// When it runs.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "null_list")]
    pub events: Vec<HookEvent>,
    /// How its last run went.
    pub last_run: HookExecution,
    /// Hooks of one event run in the order of their weights.
    #[serde(skip_serializing_if = "is_zero")]
    pub weight: i64,
    /// When its resource is deleted; empty means Helm's default.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "null_list")]
    pub delete_policies: Vec<DeletePolicy>,
    /// When its logs are shown.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "null_list")]
    pub output_log_policies: Vec<OutputLogPolicy>,
}

/// A run of a hook.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct HookExecution {
    /// When it began, RFC 3339.
    #[serde(
        skip_serializing_if = "Option::is_none",
        deserialize_with = "no_empty_time"
    )]
    pub started_at: Option<String>,
    /// When it ended, RFC 3339.
    #[serde(
        skip_serializing_if = "Option::is_none",
        deserialize_with = "no_empty_time"
    )]
    pub completed_at: Option<String>,
    /// How it stands.
    pub phase: HookPhase,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
fn is_zero(weight: &i64) -> bool {
    *weight == 0
}

fn null_list<'de, D, T>(deserializer: D) -> Result<Vec<T>, D::Error>
where
    D: serde::Deserializer<'de>,
    T: Deserialize<'de>,
{
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

fn no_empty_time<'de, D: serde::Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<String>, D::Error> {
    let time = Option::<String>::deserialize(deserializer)?;
    Ok(time.filter(|time| !time.is_empty() && time != crate::go::time::ZERO))
}
