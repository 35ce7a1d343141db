//! A run of a release's tests. They are hooks; how they ended is written into the record of the newest revision,
//! and nothing else of it changes.
//! Source of the rules: Helm 4.3.1 `pkg/action/release_testing.go`.

use super::begin::{Parts, check_name, pending};
use super::request::TestRequest;
use super::{Operation, OperationError, Outcome};
use crate::helm::Helm;
use crate::plan::OperationKind;
use crate::progress::{Progress, Settings};
use crate::storage::StoredRelease;

impl Helm {
    /// Begins to test a release; writes nothing yet.
    ///
    /// # Errors
    /// When there is no such release, an operation of this crate is under way, or the record is damaged.
    pub async fn begin_test(&self, request: TestRequest) -> Result<Operation, OperationError> {
        check_name(&request.name)?;
        let (namespace, name) = (request.namespace, request.name);
        let Some(last) = self.latest(&namespace, &name).await? else {
            return Err(OperationError::NotFound { name, namespace });
        };
        if last.operation().is_some() {
            return Err(pending(&last));
        }
        let StoredRelease { release, head } =
            self.require(&namespace, &name, last.revision).await?;
        let settings = Settings {
            only: request.only,
            except: request.except,
            logs: request.logs,
            ..Settings::default()
        };
        let progress = Progress::new(OperationKind::Test, self.now(), request.timeout, settings);
        Operation::assemble(
            self,
            Parts {
                head: Some(head),
                ..Parts::recorded(release, progress)
            },
        )
    }

    /// Tests a release and waits for the end.
    ///
    /// # Errors
    /// When it can't begin or its record can't be kept; a failed test is an [`Outcome`].
    pub async fn test(&self, request: TestRequest) -> Result<Outcome, OperationError> {
        self.begin_test(request).await?.run().await
    }
}
