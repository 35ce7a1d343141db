//! One user of a plane: name, client, kubeconfig.
//!
//! Well-known users have a static token and the group `system:masters`; service accounts get a
//! token from the server and only the rights that the test grants. The audit log names each by
//! its user, which is how a test counts the requests of one client.

use std::path::{Path, PathBuf};

use kube::config::{AuthInfo, KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use serde_json::json;

use crate::error::{Result, SandboxError};
use crate::folder::{self, Description};

/// A user of a plane.
#[derive(Clone, Debug)]
pub struct Identity {
    user: String,
    config: Config,
    kubeconfig: PathBuf,
}

impl Identity {
    /// Loads the kubeconfig of a user with a static token.
    pub(crate) async fn load(folder: &Path, description: &Description, user: &str) -> Result<Self> {
        if !description.tokens.contains_key(user) {
            return Err(unknown(description, user));
        }
        let kubeconfig = folder.join(format!("kubeconfig-{user}"));
        let unusable = |reason: String| SandboxError::Description {
            path: kubeconfig.clone(),
            reason,
        };
        let file =
            Kubeconfig::read_from(&kubeconfig).map_err(|error| unusable(error.to_string()))?;
        let config = Config::from_custom_kubeconfig(file, &KubeConfigOptions::default())
            .await
            .map_err(|error| unusable(error.to_string()))?;
        Ok(Self {
            user: user.to_owned(),
            config,
            kubeconfig,
        })
    }

    /// The same server with another user's token.
    pub(crate) fn with_static_token(
        &self,
        folder: &Path,
        description: &Description,
        user: &str,
    ) -> Result<Self> {
        let token = description
            .tokens
            .get(user)
            .ok_or_else(|| unknown(description, user))?;
        Ok(Self {
            user: user.to_owned(),
            config: self.config_with(token)?,
            kubeconfig: folder.join(format!("kubeconfig-{user}")),
        })
    }

    /// The same server with a token that the server has issued; writes a kubeconfig for it.
    pub(crate) fn with_issued_token(
        &self,
        folder: &Path,
        server: &str,
        user: String,
        token: &str,
    ) -> Result<Self> {
        let kubeconfig = folder.join(format!("kubeconfig-{}", user.replace(':', "_")));
        folder::write_private(
            &kubeconfig,
            &folder::kubeconfig(folder, server, &user, token),
        )?;
        Ok(Self {
            config: self.config_with(token)?,
            user,
            kubeconfig,
        })
    }

    fn config_with(&self, token: &str) -> Result<Config> {
        let auth: AuthInfo = serde_json::from_value(json!({"token": token})).map_err(|error| {
            SandboxError::Description {
                path: self.kubeconfig.clone(),
                reason: error.to_string(),
            }
        })?;
        let mut config = self.config.clone();
        config.auth_info = auth;
        Ok(config)
    }

    /// The user as the audit log and RBAC name it.
    pub fn user(&self) -> &str {
        &self.user
    }

    /// The client configuration.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// A kubeconfig file for programs such as `kubectl` and `helm`.
    pub fn kubeconfig(&self) -> &Path {
        &self.kubeconfig
    }

    /// A new client. It belongs to the runtime of the caller and ends with it, so each test makes
    /// its own.
    ///
    /// # Errors
    ///
    /// [`SandboxError::Request`] when the configuration cannot be used.
    pub fn client(&self) -> Result<Client> {
        Client::try_from(self.config.clone()).map_err(SandboxError::request("make a client"))
    }
}

fn unknown(description: &Description, user: &str) -> SandboxError {
    let known: Vec<&str> = description.tokens.keys().map(String::as_str).collect();
    SandboxError::UnknownUser {
        user: user.to_owned(),
        known: known.join(", "),
    }
}
