//! What a pass costs the API server, counted from its audit log.

use kubepkg_e2e::{Chart, Error, Source, Stage};
use serde_json::json;

const DONE: &str = "True ReconciliationSucceeded";

#[tokio::test(flavor = "multi_thread")]
async fn a_pass_with_nothing_to_do_writes_nothing() -> Result<(), Error> {
    let stage = Stage::new("quiet").await?;
    stage.chart(&Chart::new("web", "1.0.0"))?;
    let _operator = stage.operator(&["--recheck-interval", "1s"])?;
    stage.source("shop", &Source::new("1.0.0", &[("web", "1.0.0")]))?;
    stage.package("shop", json!({}))?;
    stage.until_ready_is("shop", DONE).await?;
    let audit = stage.plane.audit();
    let mark = audit.mark()?;
    let group = stage.group.to_string();
    let passes = || -> Result<usize, Error> {
        let all = audit
            .since(mark)?
            .by_user("operator")
            .verb("list")
            .resource("packagerevisions");
        Ok(all.filter(|r| r.group == group).count())
    };
    stage
        .until("three passes", &true, || Ok(passes()? >= 3))
        .await?;
    let of_this_package = audit
        .since(mark)?
        .by_user("operator")
        .filter(|r| r.group == group || r.namespace == stage.namespace);
    let written = of_this_package.writes();
    assert!(written.is_empty(), "{:?}", written.tally());
    Ok(())
}
