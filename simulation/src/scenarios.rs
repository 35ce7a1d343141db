//! The life of a package in small pieces: what a person does, and what is waited for. Each is run with every crash.

use std::time::Duration;

use futures::FutureExt as _;
use kubepkg_e2e::Source;
use serde_json::json;

use crate::run::Script;
use crate::world::{Stuck, World};

const DONE: &str = "True ReconciliationSucceeded";
const SHOP: &str = "shop";

/// A script with a name.
#[derive(Clone, Copy, Debug)]
pub struct Scenario {
    /// Its name, for the command line.
    pub name: &'static str,
    /// What happens.
    pub script: Script,
}

/// Makes a scenario of an async function of the same name.
macro_rules! scenarios {
    ($($name:literal: $script:ident,)*) => {
        &[$(Scenario { name: $name, script: |world| $script(world).boxed() },)*]
    };
}

/// All of them.
pub const SCENARIOS: &[Scenario] = scenarios! {
    "install": install,
    "upgrade": upgrade,
    "hooks": hooks,
    "rolls-back": rolls_back,
    "fix-forward": fix_forward,
    "unrenderable": unrenderable,
    "requested-rollback": requested_rollback,
    "change-while-waiting": change_while_waiting,
    "orphans": orphans,
    "removal": removal,
    "made-anew": made_anew,
    "crds-retained": crds_retained,
    "crds-deleted": crds_deleted,
    "foreign-object": foreign_object,
    "pruned-history": pruned_history,
};

fn source(version: &str, store: &str, web: &str) -> Source {
    Source::new(version, &[("store", store), ("web", web)])
}

async fn install(world: &World) -> Result<(), Stuck> {
    world
        .source(SHOP, &source("1.0.0", "1.0.0", "1.0.0"))
        .await?;
    world
        .package(SHOP, json!({"upgrade": {"timeout": "60s"}}))
        .await?;
    world.until(SHOP, DONE, "1 1.0.0 Applied").await
}

async fn upgrade(world: &World) -> Result<(), Stuck> {
    install(world).await?;
    world
        .source(SHOP, &source("1.1.0", "1.0.0", "1.1.0"))
        .await?;
    world.until(SHOP, DONE, "2 1.1.0 Applied").await
}

async fn hooks(world: &World) -> Result<(), Stuck> {
    world
        .source(SHOP, &Source::new("1.0.0", &[("work", "1.0.0")]))
        .await?;
    world.package(SHOP, json!({})).await?;
    world.until(SHOP, DONE, "1 1.0.0 Applied").await?;
    world
        .source(SHOP, &Source::new("1.1.0", &[("work", "1.1.0")]))
        .await?;
    world.until(SHOP, DONE, "2 1.1.0 Applied").await
}

async fn rolls_back(world: &World) -> Result<(), Stuck> {
    install(world).await?;
    world
        .source(SHOP, &source("1.1.0", "1.1.0", "9.0.0"))
        .await?;
    world
        .until(SHOP, "False UpgradeRolledBack", "3 1.0.0 Applied from 1")
        .await
}

async fn fix_forward(world: &World) -> Result<(), Stuck> {
    install(world).await?;
    world
        .source(SHOP, &source("2.0.0", "1.1.0", "9.0.0").not_safe())
        .await?;
    world
        .until(SHOP, "False UpgradeFailed", "2 2.0.0 Failed")
        .await?;
    world
        .source(SHOP, &source("2.0.1", "1.1.0", "1.2.0").not_safe())
        .await?;
    world.until(SHOP, DONE, "3 2.0.1 Applied").await
}

async fn unrenderable(world: &World) -> Result<(), Stuck> {
    install(world).await?;
    world
        .source(SHOP, &source("1.1.0", "1.1.0", "8.0.0"))
        .await?;
    world
        .until(SHOP, "False UpgradeRolledBack", "3 1.0.0 Applied from 1")
        .await
}

async fn requested_rollback(world: &World) -> Result<(), Stuck> {
    install(world).await?;
    world
        .source(SHOP, &source("1.1.0", "1.1.0", "1.1.0"))
        .await?;
    world.until(SHOP, DONE, "2 1.1.0 Applied").await?;
    world.roll_back(SHOP, 1).await?;
    world
        .until(SHOP, "True RolledBack", "3 1.0.0 Applied from 1")
        .await
}

async fn change_while_waiting(world: &World) -> Result<(), Stuck> {
    world
        .source(SHOP, &source("1.0.0", "1.0.0", "1.0.0"))
        .await?;
    world.package(SHOP, json!({})).await?;
    world.until(SHOP, DONE, "1 1.0.0 Applied").await?;
    world
        .source(SHOP, &source("1.1.0", "1.1.0", "9.0.0"))
        .await?;
    let is_waiting = |newest: &str| world.is_same(newest, "2 1.1.0 Applying");
    world
        .until_seen(SHOP, "waiting for revision 2", |seen| {
            seen.ready.ends_with("Progressing")
                && seen.history.last().is_some_and(|row| is_waiting(row))
        })
        .await?;
    world.pass(Duration::from_secs(45)).await;
    world
        .source(SHOP, &source("1.2.0", "1.1.0", "1.2.0"))
        .await?;
    world.until(SHOP, DONE, "3 1.2.0 Applied").await
}

async fn orphans(world: &World) -> Result<(), Stuck> {
    let both = Source::new("1.0.0", &[("kinds", "1.0.0"), ("web", "1.0.0")]);
    world.source(SHOP, &both).await?;
    world.package(SHOP, json!({})).await?;
    world.until(SHOP, DONE, "1 1.0.0 Applied").await?;
    world
        .source(SHOP, &Source::new("1.1.0", &[("web", "1.0.0")]))
        .await?;
    world.until(SHOP, DONE, "2 1.1.0 Applied").await
}

async fn removal(world: &World) -> Result<(), Stuck> {
    install(world).await?;
    world.delete(SHOP).await?;
    gone(world).await
}

async fn gone(world: &World) -> Result<(), Stuck> {
    world
        .until_seen(SHOP, "gone", |seen| {
            seen.ready == "gone" && seen.history.is_empty()
        })
        .await
}

async fn made_anew(world: &World) -> Result<(), Stuck> {
    removal(world).await?;
    world.package(SHOP, json!({})).await?;
    world.until(SHOP, DONE, "1 1.0.0 Applied").await
}

async fn with_crds(world: &World, policy: &str) -> Result<(), Stuck> {
    world
        .source(SHOP, &Source::new("1.0.0", &[("kinds", "1.0.0")]))
        .await?;
    world.package(SHOP, json!({"crdPolicy": policy})).await?;
    world.until(SHOP, DONE, "1 1.0.0 Applied").await?;
    world
        .source(SHOP, &Source::new("1.1.0", &[("kinds", "1.1.0")]))
        .await?;
    world.until(SHOP, DONE, "2 1.1.0 Applied").await?;
    world.delete(SHOP).await?;
    gone(world).await
}

async fn crds_retained(world: &World) -> Result<(), Stuck> {
    with_crds(world, "Retain").await
}

async fn crds_deleted(world: &World) -> Result<(), Stuck> {
    with_crds(world, "Delete").await
}

async fn foreign_object(world: &World) -> Result<(), Stuck> {
    let path = "/api/v1/namespaces/apps/configmaps/shop-web";
    let theirs = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "shop-web"}, "data": {"of": "somebody else"},
    });
    world.apply(path, theirs).await?;
    world
        .source(SHOP, &source("1.0.0", "1.0.0", "1.0.0"))
        .await?;
    world.package(SHOP, json!({})).await?;
    world
        .until(SHOP, "False UpgradeFailed", "1 1.0.0 Failed")
        .await?;
    let found = world.get(path).await?.unwrap_or_default();
    if found["data"]["of"] != "somebody else" {
        return Err(Stuck::Never {
            package: SHOP.to_owned(),
            wanted: "keeping off the object of somebody else".to_owned(),
            seen: found.to_string(),
        });
    }
    world
        .ask(http::Method::DELETE, path, "application/json", &json!({}))
        .await?;
    world
        .source(SHOP, &source("1.0.1", "1.0.0", "1.0.0"))
        .await?;
    world.until(SHOP, DONE, "2 1.0.1 Applied").await
}

async fn pruned_history(world: &World) -> Result<(), Stuck> {
    let only = |version: &str| Source::new(version, &[("web", version)]);
    world.source(SHOP, &only("1.0.0")).await?;
    world
        .package(SHOP, json!({"revisionHistoryLimit": 2}))
        .await?;
    world.until(SHOP, DONE, "1 1.0.0 Applied").await?;
    world.source(SHOP, &only("1.1.0")).await?;
    world.until(SHOP, DONE, "2 1.1.0 Applied").await?;
    world.source(SHOP, &only("1.2.0")).await?;
    world.until(SHOP, DONE, "3 1.2.0 Applied").await?;
    world.source(SHOP, &only("2.0.0")).await?;
    world.until(SHOP, DONE, "4 2.0.0 Applied").await
}
