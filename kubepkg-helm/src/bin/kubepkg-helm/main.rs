//! `kubepkg-helm`: those commands of `helm` that need neither cluster nor network, over this crate, with Helm's flags,
//! output and exit codes. `template`, `lint`, `show`, `package`, `dependency list`.

mod arguments;
mod chart;
mod template;

use std::fmt::Write as _;
use std::io::Write as _;
use std::process::ExitCode;

use arguments::{Arguments, Flags};

/// What a command prints, and how it ended.
#[derive(Default)]
struct Output {
    stdout: Vec<u8>,
    stderr: String,
}

impl Output {
    fn print(&mut self, text: &str) {
        self.stdout.extend_from_slice(text.as_bytes());
    }

    /// Something that was skipped or looked odd, as a line of Helm's log.
    fn warn(&mut self, message: &str) {
        let _ = writeln!(self.stderr, "level=WARN msg={message:?}");
    }
}

type Error = Box<dyn std::error::Error>;
type Run = fn(&Arguments, &mut Output) -> Result<(), Error>;

struct Command {
    /// The words that name it.
    path: &'static [&'static str],
    /// What follows them, as the usage line has it.
    usage: &'static str,
    /// Fewest and most arguments; none for what Helm words itself.
    takes: Takes,
    flags: &'static [Flags],
    run: Run,
}

enum Takes {
    AtLeast(usize),
    AtMost(usize),
    Exactly(usize),
    Any,
}

const COMMANDS: &[Command] = &[
    Command {
        path: &["template"],
        usage: "[NAME] [CHART]",
        takes: Takes::AtLeast(1),
        flags: &[template::FLAGS, arguments::VALUES, arguments::SOURCE],
        run: template::run,
    },
    Command {
        path: &["lint"],
        usage: "PATH",
        takes: Takes::AtLeast(1),
        flags: &[chart::LINT_FLAGS, arguments::VALUES],
        run: chart::lint,
    },
    Command {
        path: &["show", "all"],
        usage: "[CHART]",
        takes: Takes::Exactly(1),
        flags: &[arguments::SOURCE],
        run: |arguments, output| chart::show(arguments, output, kubepkg_helm::ShowPart::All),
    },
    Command {
        path: &["show", "chart"],
        usage: "[CHART]",
        takes: Takes::Exactly(1),
        flags: &[arguments::SOURCE],
        run: |arguments, output| chart::show(arguments, output, kubepkg_helm::ShowPart::Chart),
    },
    Command {
        path: &["show", "values"],
        usage: "[CHART]",
        takes: Takes::Exactly(1),
        flags: &[arguments::SOURCE, chart::SHOW_VALUES_FLAGS],
        run: |arguments, output| chart::show(arguments, output, kubepkg_helm::ShowPart::Values),
    },
    Command {
        path: &["show", "readme"],
        usage: "[CHART]",
        takes: Takes::Exactly(1),
        flags: &[arguments::SOURCE],
        run: |arguments, output| chart::show(arguments, output, kubepkg_helm::ShowPart::Readme),
    },
    Command {
        path: &["show", "crds"],
        usage: "[CHART]",
        takes: Takes::Exactly(1),
        flags: &[arguments::SOURCE],
        run: |arguments, output| chart::show(arguments, output, kubepkg_helm::ShowPart::Crds),
    },
    Command {
        path: &["package"],
        usage: "[CHART_PATH] [...]",
        takes: Takes::Any,
        flags: &[chart::PACKAGE_FLAGS],
        run: chart::package,
    },
    Command {
        path: &["dependency", "list"],
        usage: "CHART",
        takes: Takes::AtMost(1),
        flags: &[chart::DEPENDENCY_LIST_FLAGS],
        run: chart::dependency_list,
    },
];

/// Other words for commands.
const ALIASES: &[(&str, &str)] = &[
    ("inspect", "show"),
    ("dep", "dependency"),
    ("dependencies", "dependency"),
    ("ls", "list"),
];

fn main() -> ExitCode {
    let mut output = Output::default();
    let outcome = run(std::env::args().skip(1).collect(), &mut output);
    let code = match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(output.stderr, "Error: {error}");
            ExitCode::FAILURE
        }
    };
    let written = std::io::stdout().lock().write_all(&output.stdout);
    let logged = std::io::stderr().lock().write_all(output.stderr.as_bytes());
    if written.and(logged).is_err() {
        return ExitCode::FAILURE;
    }
    code
}

fn run(words: Vec<String>, output: &mut Output) -> Result<(), Error> {
    let plain = |word: &String| {
        let alias = ALIASES.iter().find(|(alias, _)| alias == word);
        alias.map_or(word.clone(), |(_, name)| (*name).to_owned())
    };
    if let None | Some("help" | "--help" | "-h") = words.first().map(String::as_str) {
        output.print(&overview());
        return Ok(());
    }
    let named: Vec<String> = words.iter().take(2).map(plain).collect();
    let fits = |command: &&Command| {
        let named = named.get(..command.path.len());
        named.is_some_and(|named| named == command.path)
    };
    let Some(command) = COMMANDS.iter().find(fits) else {
        let known: Vec<String> = COMMANDS.iter().map(|one| one.path.join(" ")).collect();
        return Err(format!("unknown command; there are: {}", known.join(", ")).into());
    };
    let words = words.into_iter().skip(command.path.len());
    let arguments = Arguments::parse(words, command.flags, output)?;
    if arguments.is_on("help") {
        output.print(&help(command));
        return Ok(());
    }
    check_count(command, arguments.plain.len())?;
    (command.run)(&arguments, output)
}

fn overview() -> String {
    let mut text =
        "The commands of helm that need neither cluster nor network.\n\nUsage:\n".to_owned();
    for command in COMMANDS {
        let name = command.path.join(" ");
        let _ = writeln!(text, "  kubepkg-helm {name} {} [flags]", command.usage);
    }
    text.push_str("\nFlags mean what they mean to helm; COMMAND --help lists them.\n");
    text
}

fn help(command: &Command) -> String {
    let name = command.path.join(" ");
    format!(
        "As `helm {name}`, for charts on this machine.\n\nUsage:\n  kubepkg-helm {name} {} [flags]\n\nFlags:\n{}",
        command.usage,
        arguments::list(command.flags)
    )
}

fn check_count(command: &Command, given: usize) -> Result<(), Error> {
    let name = format!("helm {}", command.path.join(" "));
    let wanted = match command.takes {
        Takes::AtLeast(fewest) if given < fewest => format!("at least {fewest}"),
        Takes::AtMost(most) if given > most => format!("at most {most}"),
        Takes::Exactly(count) if given != count => count.to_string(),
        _ => return Ok(()),
    };
    let accepts = match command.takes {
        Takes::AtMost(_) => "accepts",
        _ => "requires",
    };
    let plural = if wanted.ends_with('1') { "" } else { "s" };
    Err(format!(
        "\"{name}\" {accepts} {wanted} argument{plural}\n\nUsage:  {name} {} [flags]",
        command.usage
    )
    .into())
}
