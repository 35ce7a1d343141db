//! Two operators, one of which works.

use std::time::Duration;

use kubepkg_e2e::{Chart, Error, Operator, Source, Stage};
use serde_json::json;

const DONE: &str = "True ReconciliationSucceeded";

fn leads(operator: &Operator) -> bool {
    operator.log().contains("leading")
}

#[tokio::test(flavor = "multi_thread")]
async fn one_of_two_operators_works_and_the_other_takes_over() -> Result<(), Error> {
    let stage = Stage::new("leader").await?;
    for version in ["1.0.0", "1.1.0", "1.2.0"] {
        stage.chart(&Chart::new("web", version))?;
    }
    let flags = [
        "--leader-elect",
        "--leader-elect-namespace",
        &stage.namespace,
    ];
    let mut first = stage.operator(&flags)?;
    stage
        .until("the first to lead", &true, || Ok(leads(&first)))
        .await?;
    let mut second = stage.operator(&flags)?;
    stage.source("shop", &Source::new("1.0.0", &[("web", "1.0.0")]))?;
    stage.package("shop", json!({}))?;
    stage.until_ready_is("shop", DONE).await?;
    assert!(!leads(&second) && second.runs());
    let lease = format!("kubepkg-operator.{}", stage.group);
    assert!(stage.get("lease", &lease)?.is_some());
    // A leader that is killed is replaced once its lease has run out: 15 seconds and one look.
    first.kill();
    stage.source("shop", &Source::new("1.1.0", &[("web", "1.1.0")]))?;
    stage
        .until("the takeover", &2, || Ok(stage.history("shop")?.len()))
        .await?;
    stage.until_ready_is("shop", DONE).await?;
    assert!(leads(&second));
    // One that ends in order gives the lease back at once.
    let third = stage.operator(&flags)?;
    assert!(second.stop(Duration::from_secs(10)), "{}", second.log());
    stage
        .until("the third to lead", &true, || Ok(leads(&third)))
        .await?;
    stage.source("shop", &Source::new("1.2.0", &[("web", "1.2.0")]))?;
    stage
        .until("the third to work", &3, || Ok(stage.history("shop")?.len()))
        .await?;
    stage.until_ready_is("shop", DONE).await
}
