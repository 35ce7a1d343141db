//! A distribution's own name, version, group and command.

use std::io::{self, Write};
use std::sync::{Arc, Mutex};

use clap::{Arg, ArgMatches, Command};
use futures::future::LocalBoxFuture;
use kubepkg_cli::{CliError, Context, Exit, ExtraCommand, Options, Out};

use crate::desk::Desk;

/// `acme-pkg count <noun>`: counts packages.
#[derive(Debug)]
struct Count;

impl ExtraCommand for Count {
    fn command(&self) -> Command {
        Command::new("count")
            .about("Count packages")
            .arg(Arg::new("noun").required(true))
    }

    fn run<'a>(
        &'a self,
        arguments: &'a ArgMatches,
        context: &'a mut Context,
    ) -> LocalBoxFuture<'a, Result<Exit, CliError>> {
        Box::pin(async move {
            let cluster = context.cluster().await?;
            let (view, _) = cluster.view().await?;
            let noun = arguments
                .get_one::<String>("noun")
                .map_or("", String::as_str);
            context
                .out
                .result(&format!("{} {noun}", view.packages.len()))?;
            Ok(Exit::Done)
        })
    }
}

/// A stream that the test can look into.
#[derive(Clone, Default)]
struct Buffer(Arc<Mutex<Vec<u8>>>);

impl Write for Buffer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Buffer {
    fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

async fn run(options: &Options, arguments: &[&str]) -> (Exit, String, String) {
    let (results, messages) = (Buffer::default(), Buffer::default());
    let out = Out::new(
        Box::new(results.clone()),
        Box::new(messages.clone()),
        Box::new(io::empty()),
    );
    let arguments = arguments.iter().map(Into::into);
    let exit = kubepkg_cli::run(options, arguments, |_| out).await;
    (exit, results.text(), messages.text())
}

#[tokio::test]
async fn a_distribution_brings_its_name_group_and_commands() {
    let desk = Desk::new().await;
    desk.create::<kubepkg_api::Package>("a", serde_json::json!({}))
        .await;
    let options = Options {
        name: "acme-pkg".into(),
        version: "9.9.9".into(),
        group: desk.group.clone(),
        install_hint: "acme install".into(),
        extra: vec![Box::new(Count)],
    };
    let kubeconfig = desk.plane.kubeconfig().to_str().unwrap();

    let counted = run(
        &options,
        &["acme-pkg", "--kubeconfig", kubeconfig, "count", "packages"],
    )
    .await;
    assert_eq!(
        counted,
        (Exit::Done, "1 packages\n".to_owned(), String::new())
    );
    let (exit, help, _) = run(&options, &["acme-pkg", "--help"]).await;
    assert_eq!(exit, Exit::Done);
    assert!(
        help.contains("acme-pkg") && help.contains("Count packages"),
        "{help}"
    );
    assert_eq!(run(&options, &["acme-pkg", "version"]).await.1, "9.9.9\n");
    let (exit, _, message) = run(
        &options,
        &["acme-pkg", "--kubeconfig", kubeconfig, "history", "a"],
    )
    .await;
    assert_eq!(exit, Exit::Error);
    assert!(message.contains("kubectl describe package a"), "{message}");
    let (_, _, message) = run(
        &options,
        &["acme-pkg", "--kubeconfig", kubeconfig, "history", "b"],
    )
    .await;
    assert!(message.contains("acme-pkg list"), "{message}");
}
