//! Helm's answers, kept in a folder: a chart that has not changed is not rendered by helm again.
//!
//! An answer is found by a digest of everything that helm is given: which helm, its arguments, and path and content of
//! every file of the chart and of the values file.

use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::corpus::Case;
use crate::run::Answer;

/// A folder of answers.
pub(crate) struct Kept {
    folder: PathBuf,
    program: String,
}

impl Kept {
    /// Answers of this program in this folder, which is made.
    pub(crate) fn new(folder: &Path, program: &Path) -> std::io::Result<Self> {
        std::fs::create_dir_all(folder)?;
        let about = std::fs::metadata(program)?;
        let changed = about
            .modified()?
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        Ok(Self {
            folder: folder.to_owned(),
            program: format!("{} {changed:?}", about.len()),
        })
    }

    /// Where the answer to a question about a case is, or will be.
    pub(crate) fn place(&self, case: &Case, question: &str) -> std::io::Result<PathBuf> {
        let mut hash = Sha256::new();
        let mut part = |bytes: &[u8]| {
            hash.update((bytes.len() as u64).to_le_bytes());
            hash.update(bytes);
        };
        part(self.program.as_bytes());
        part(question.as_bytes());
        if let Some(values) = &case.values {
            part(values.as_os_str().as_encoded_bytes());
            part(&std::fs::read(values)?);
        }
        files(&case.chart, &mut part)?;
        let digest = hash.finalize();
        let bytes = digest.iter().map(|byte| format!("{byte:02x}"));
        Ok(self.folder.join(bytes.collect::<Vec<String>>().concat()))
    }
}

/// What was kept there.
pub(crate) fn read(place: &Path) -> Option<(Answer, Duration)> {
    let kept: Value = serde_json::from_slice(&std::fs::read(place).ok()?).ok()?;
    let text = || kept.get("text")?.as_str().map(str::to_owned);
    let answer = match kept.get("answer")?.as_str()? {
        "rendered" => Answer::Rendered(text()?),
        "refused" => Answer::Refused(text()?),
        _ => return None,
    };
    Some((
        answer,
        Duration::from_secs_f64(kept.get("seconds")?.as_f64()?),
    ))
}

/// Keeps an answer there. One that can't be kept is asked for again; what took too long may be faster next time.
pub(crate) fn write(place: &Path, answer: &Answer, took: Duration) {
    let (word, text) = match answer {
        Answer::Rendered(text) => ("rendered", text),
        Answer::Refused(text) => ("refused", text),
        Answer::Stopped => return,
    };
    let kept = json!({"answer": word, "text": text, "seconds": took.as_secs_f64()});
    drop(std::fs::write(place, kept.to_string()));
}

/// Gives path and content of everything below a path, in the order of the paths.
fn files(path: &Path, part: &mut dyn FnMut(&[u8])) -> std::io::Result<()> {
    part(path.as_os_str().as_encoded_bytes());
    if !path.is_dir() {
        // A link to nowhere is a file without content.
        part(&std::fs::read(path).unwrap_or_default());
        return Ok(());
    }
    let mut entries = Vec::new();
    for entry in std::fs::read_dir(path)? {
        entries.push(entry?.path());
    }
    entries.sort();
    // Links to folders above would be followed for ever.
    let own = |path: &&PathBuf| !(path.is_symlink() && path.is_dir());
    entries
        .iter()
        .filter(own)
        .try_for_each(|path| files(path, part))
}
