//! The only place that prints: results to standard output, everything a person reads on the way to standard
//! error. Colours obey `--color`, `NO_COLOR` and whether the stream is a terminal.

use std::io::{self, BufRead, Write};

use anstream::{AutoStream, ColorChoice};
use clap::ValueEnum;

/// The value of `--color`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Color {
    /// On a terminal, unless `NO_COLOR` is set.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

impl From<Color> for ColorChoice {
    fn from(color: Color) -> Self {
        match color {
            Color::Auto => Self::Auto,
            Color::Always => Self::Always,
            Color::Never => Self::Never,
        }
    }
}

/// What a piece of text means; colours are looked up from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Label {
    /// Ordinary text.
    Plain,
    /// Something good: ready, done.
    Good,
    /// Something bad: an error, not ready.
    Bad,
    /// Something to look at: a warning, an upgrade.
    Care,
    /// A word that names what follows: a heading, `try:`.
    Head,
}

impl Label {
    /// The text wrapped in the escape codes of its meaning; a stream without colours takes them out again.
    pub fn paint(self, text: &str) -> String {
        let code = match self {
            Self::Plain => return text.to_owned(),
            Self::Good => "32",
            Self::Bad => "1;31",
            Self::Care => "33",
            Self::Head => "1",
        };
        format!("\u{1b}[{code}m{text}\u{1b}[0m")
    }
}

/// Both output streams and the input that answers are read from.
pub struct Out {
    results: Box<dyn Write + Send>,
    messages: Box<dyn Write + Send>,
    answers: Box<dyn BufRead + Send>,
}

impl std::fmt::Debug for Out {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Out").finish_non_exhaustive()
    }
}

impl Out {
    /// The streams of the process.
    pub fn process(color: Color) -> Self {
        Self {
            results: Box::new(AutoStream::new(io::stdout(), color.into())),
            messages: Box::new(AutoStream::new(io::stderr(), color.into())),
            answers: Box::new(io::BufReader::new(io::stdin())),
        }
    }

    /// Streams of the caller's choice, for tests and for programs that embed the commands.
    pub fn new(
        results: Box<dyn Write + Send>,
        messages: Box<dyn Write + Send>,
        answers: Box<dyn BufRead + Send>,
    ) -> Self {
        Self {
            results,
            messages,
            answers,
        }
    }

    /// Streams that take everything and give nothing.
    #[cfg(feature = "sandbox")]
    pub(crate) fn nowhere() -> Self {
        Self::new(
            Box::new(io::sink()),
            Box::new(io::sink()),
            Box::new(io::empty()),
        )
    }

    /// Writes a block of text to standard output; a line break is added when it does not end in one.
    ///
    /// # Errors
    /// The stream's own, for instance that nobody reads it any more.
    pub fn result(&mut self, text: &str) -> io::Result<()> {
        block(&mut self.results, text)
    }

    /// Writes a block of text to standard error. A message that cannot be written is lost: there is nobody to
    /// tell.
    pub fn message(&mut self, text: &str) {
        let _ = block(&mut self.messages, text);
    }

    /// Writes `warning: <text>` to standard error.
    pub fn warning(&mut self, text: &str) {
        self.message(&format!("{} {text}", Label::Care.paint("warning:")));
    }

    /// Asks a question that is answered with yes or no. Only `y` and `yes`, in any case, agree; the end of the
    /// input does not.
    ///
    /// # Errors
    /// The input's own.
    pub fn confirm(&mut self, question: &str) -> io::Result<bool> {
        write!(self.messages, "{question} [y/N] ")?;
        self.messages.flush()?;
        let mut answer = String::new();
        let read = self.answers.read_line(&mut answer)?;
        if read == 0 {
            // The cursor still stands behind the question.
            writeln!(self.messages)?;
        }
        Ok(matches!(answer.trim().to_lowercase().as_str(), "y" | "yes"))
    }
}

fn block(stream: &mut dyn Write, text: &str) -> io::Result<()> {
    stream.write_all(text.as_bytes())?;
    if !text.is_empty() && !text.ends_with('\n') {
        stream.write_all(b"\n")?;
    }
    stream.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answering(answers: &'static str) -> bool {
        let mut out = Out::new(
            Box::new(io::sink()),
            Box::new(io::sink()),
            Box::new(answers.as_bytes()),
        );
        out.confirm("Apply?").unwrap()
    }

    #[test]
    fn only_yes_agrees() {
        for yes in ["y\n", "Y\n", "yes\n", "YES", " yes \n"] {
            assert!(answering(yes), "{yes:?}");
        }
        for no in ["", "\n", "n\n", "no\n", "yess\n", "1\n"] {
            assert!(!answering(no), "{no:?}");
        }
    }

    #[test]
    fn plain_text_has_no_escape_codes() {
        assert_eq!(Label::Plain.paint("x"), "x");
        assert_eq!(Label::Bad.paint("x"), "\u{1b}[1;31mx\u{1b}[0m");
    }
}
