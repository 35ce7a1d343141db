//! What became of an object that is gone. A Job with `ttlSecondsAfterFinished: 0` is removed in the moment it
//! is complete, so that whoever looks from time to time may never see it so. The server remembers the last
//! minutes of every collection: a watch from the version at which the object was written tells its end.
//! Nothing is told when the version is too old, or when watching is not allowed.

use super::Cluster;
use super::http::{ApiError, escape};
use futures::StreamExt as _;
use kube::core::WatchEvent;
use serde_json::Value;

/// How long the server is asked to tell; the past comes at once.
const SECONDS: u32 = 2;

impl Cluster {
    /// The object `name` of a collection as it was when it was removed, if that was after `version`, without
    /// the mark of its deletion.
    pub(crate) async fn last_state(
        &self,
        collection: &str,
        name: &str,
        version: &str,
    ) -> Result<Option<Value>, ApiError> {
        let uri = format!(
            "{collection}?watch=true&timeoutSeconds={SECONDS}&resourceVersion={}&fieldSelector={}",
            escape(version),
            escape(&format!("metadata.name={name}")),
        );
        let mut request = ::http::Request::get(uri);
        if let Some(agent) = &self.user_agent {
            request = request.header(::http::header::USER_AGENT, agent.clone());
        }
        let request = request.body(Vec::new()).map_err(ApiError::Request)?;
        let events = match self.client.request_events::<Value>(request).await {
            Ok(events) => events,
            // Too old, or not allowed.
            Err(kube::Error::Api(_)) => return Ok(None),
            Err(error) => return Err(ApiError::Transport(Box::new(error))),
        };
        let mut events = std::pin::pin!(events);
        while let Some(event) = events.next().await {
            match event {
                Ok(WatchEvent::Deleted(mut object)) => {
                    if let Some(metadata) =
                        object.get_mut("metadata").and_then(Value::as_object_mut)
                    {
                        metadata.remove("deletionTimestamp");
                    }
                    return Ok(Some(object));
                }
                Ok(WatchEvent::Error(_)) => return Ok(None),
                Ok(_) => {}
                Err(error) => return Err(ApiError::Transport(Box::new(error))),
            }
        }
        Ok(None)
    }
}
