//! `demo`: the main job from start to end, on a sandbox, without a cluster, a network or any other program.
//!
//! Every command that is shown is run, by the code that runs it for a user, with the arguments that stand there. Only
//! the API server and the pods are simulated.

mod shop;

use std::ffi::OsString;
use std::time::Instant;

use clap::Args;

use crate::cmd::sandbox::Ends;
use crate::context::Context;
use crate::error::CliError;
use crate::exit::Exit;
use crate::options::Options;
use crate::out::{Label, Out};
use crate::run::perform;
use crate::sandbox::{Sandbox, Settings};
use shop::Shop;

/// Arguments of `demo`.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Leave out the removal, and keep the cluster until Ctrl-C
    #[arg(long)]
    keep: bool,
}

/// A part of the story: what it shows, the commands, and how each ends.
type Chapter = (&'static str, &'static [(&'static str, Exit)]);

const STORY: &[Chapter] = &[
    (
        "install: two charts, the web front after its store",
        &[
            ("install -f shop-1.0.0.yaml --yes --wait", Exit::Done),
            ("list", Exit::Done),
        ],
    ),
    (
        "plan: what an upgrade would do; nothing is written",
        &[("install -f shop-1.0.1.yaml --dry-run", Exit::Pending)],
    ),
    (
        "upgrade: only the web front changed, so only it is touched",
        &[("install -f shop-1.0.1.yaml --yes --wait", Exit::Done)],
    ),
    (
        "a broken upgrade: its image is not there, so the whole package goes back",
        &[
            ("install -f shop-1.0.2.yaml --yes --wait", Exit::Error),
            ("list", Exit::Done),
        ],
    ),
    (
        "history: every state is a revision, and stays",
        &[("history shop", Exit::Done)],
    ),
];

const REMOVAL: Chapter = (
    "removal",
    &[
        ("remove shop --yes --wait", Exit::Done),
        ("list", Exit::Done),
    ],
);

pub(crate) async fn run(
    arguments: &Arguments,
    options: &Options,
    context: &mut Context,
) -> Result<Exit, CliError> {
    let begin = Instant::now();
    let failed = |failure| CliError::Sandbox(Box::new(failure));
    let mut ends = Ends::new().map_err(failed)?;
    let settings = Settings {
        group: context.group.clone(),
        ..Settings::default()
    };
    let sandbox = Sandbox::start(&settings).await.map_err(failed)?;
    let shop = Shop::open(sandbox.folder(), &context.group).map_err(failed)?;
    let folder = sandbox.folder().display().to_string();
    context.out.result(&format!(
        "The main job of {} on a cluster in this process. Simulated are the API server\n\
         and the pods: they get ready by themselves, but for the web front of 1.0.2.\n\n\
         $ cd {folder}\n$ export KUBECONFIG=$PWD/kubeconfig",
        context.program
    ))?;
    let removal = (!arguments.keep).then_some(&REMOVAL);
    let told = tell(STORY.iter().chain(removal), &sandbox, options, context);
    tokio::select! {
        told = told => told?,
        () = ends.first() => return Ok(Exit::Error),
    }
    let seconds = begin.elapsed().as_secs_f32();
    if arguments.keep {
        context.out.result(&format!(
            "\ndone in {seconds:.1} s; the cluster stays until Ctrl-C. In another shell, with the two lines\n\
             above: {program} rollback shop --to 1, {program} remove shop, kubectl get all -n shop",
            program = context.program
        ))?;
        ends.first().await;
    } else {
        context
            .out
            .result(&format!("\ndone in {seconds:.1} s; nothing is left"))?;
    }
    sandbox.end().await;
    drop(shop);
    Ok(Exit::Done)
}

/// Shows and runs the commands of these chapters.
async fn tell(
    chapters: impl Iterator<Item = &Chapter>,
    sandbox: &Sandbox,
    options: &Options,
    context: &mut Context,
) -> Result<(), CliError> {
    for (title, commands) in chapters {
        let title = Label::Head.paint(&format!("== {title}"));
        context.out.result(&format!("\n{title}"))?;
        for (line, expected) in *commands {
            context
                .out
                .result(&format!("\n$ {} {line}", context.program))?;
            let out = std::mem::replace(&mut context.out, Out::nowhere());
            let words = words(line, sandbox, context);
            let (exit, out) = Box::pin(perform(options, words, |_| out)).await;
            context.out = out;
            if exit != *expected {
                return Err(CliError::Demo {
                    command: format!("{} {line}", context.program),
                    code: exit.code(),
                    expected: expected.code(),
                });
            }
        }
    }
    Ok(())
}

/// The arguments of a command, as they are where the two lines at the start have been typed.
fn words(line: &str, sandbox: &Sandbox, context: &Context) -> Vec<OsString> {
    let mut words: Vec<OsString> = vec![
        context.program.clone().into(),
        "--kubeconfig".into(),
        sandbox.kubeconfig().into(),
        "--api-group".into(),
        context.group.to_string().into(),
    ];
    words.extend(line.split_whitespace().map(|word| {
        if word.starts_with("shop-") {
            sandbox.folder().join(word).into()
        } else {
            word.into()
        }
    }));
    words
}
