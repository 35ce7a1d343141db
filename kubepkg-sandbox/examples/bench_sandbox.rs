//! What the embedded API server costs, for `cargo xtask bench sandbox`: a Markdown table.
//!
//! Objects are made one after another while others watch all of them; every watcher reads every event.
#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a measurement, run by hand"
)]

use std::time::{Duration, Instant};

use futures::StreamExt as _;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, ListParams, PostParams, WatchEvent, WatchParams};
use kubepkg_sandbox::{ApiOptions, ApiServer};
use serde_json::json;

/// Objects and watchers, in the order of their product.
const SIZES: [(usize, usize); 4] = [(1_000, 1), (1_000, 100), (10_000, 1), (10_000, 100)];

#[tokio::main(flavor = "current_thread")]
async fn main() {
    println!("| start to ready | ms |\n|---|--:|");
    for what in ["the first of a process", "another"] {
        println!("| {what} | {} |", millis(start().await));
    }
    println!("\nIn use then: {} MiB.\n", memory());
    println!("| objects | watchers | ms | µs an object | ns an event | list, ms |");
    println!("|--:|--:|--:|--:|--:|--:|");
    for (objects, watchers) in SIZES {
        let (time, list) = fill(objects, watchers).await;
        println!(
            "| {objects} | {watchers} | {} | {:.1} | {} | {} |",
            millis(time),
            time.as_secs_f64() * 1e6 / number(objects),
            time.as_nanos() / (objects * watchers) as u128,
            millis(list),
        );
    }
    println!("\nMost in use at a time: {} MiB.", peak());
}

fn number(count: usize) -> f64 {
    u32::try_from(count).map_or(f64::MAX, f64::from)
}

fn millis(time: Duration) -> String {
    format!("{:.1}", time.as_secs_f64() * 1e3)
}

/// From nothing to the answer to the first request, with a socket open.
async fn start() -> Duration {
    let begun = Instant::now();
    let server = ApiServer::new(&ApiOptions::default());
    let _listener = server.listen().unwrap();
    let ready = server.client().apiserver_version().await.unwrap();
    assert!(!ready.major.is_empty());
    begun.elapsed()
}

/// Makes objects; how long until all watchers have seen all, and how long a list takes then.
async fn fill(objects: usize, watchers: usize) -> (Duration, Duration) {
    let server = ApiServer::new(&ApiOptions::default());
    let api: Api<ConfigMap> = Api::default_namespaced(server.client());
    let mut readers = Vec::new();
    for _ in 0..watchers {
        let watch = WatchParams::default().timeout(290).labels("made=here");
        readers.push(api.watch(&watch, "0").await.unwrap().boxed());
    }
    let begun = Instant::now();
    for number in 0..objects {
        let name = format!("m{number}");
        let map =
            json!({"metadata": {"name": name, "labels": {"made": "here"}}, "data": {"k": "v"}});
        let map: ConfigMap = serde_json::from_value(map).unwrap();
        api.create(&PostParams::default(), &map).await.unwrap();
        for reader in &mut readers {
            let event = reader.next().await.unwrap().unwrap();
            assert!(
                matches!(event, WatchEvent::Added(map) if map.metadata.name.as_ref() == Some(&name))
            );
        }
    }
    let time = begun.elapsed();
    let begun = Instant::now();
    let list = ListParams::default().labels("made=here");
    assert_eq!(api.list(&list).await.unwrap().items.len(), objects);
    (time, begun.elapsed())
}

/// A line of what the kernel says of this process, in MiB.
fn status(name: &str) -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix(name));
    let number = line.and_then(|line| line.split_whitespace().nth(1));
    number
        .and_then(|number| number.parse().ok())
        .unwrap_or(0_u64)
        / 1024
}

fn memory() -> u64 {
    status("VmRSS")
}

fn peak() -> u64 {
    status("VmHWM")
}
