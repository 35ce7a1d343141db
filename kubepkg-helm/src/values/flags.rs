//! Values from the flags of a command line, in Helm's fixed order: files, `--set-json`, `--set`,
//! `--set-string`, `--set-file`, `--set-literal`, whatever was typed first.

use serde_json::Value;

use super::{Values, ValuesError, set, set_file, set_json, set_literal, set_string};

/// What the value flags of a command line held, each in the order typed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ValueSources {
    /// `-f`, `--values`: names of files.
    pub files: Vec<String>,
    /// `--set-json`
    pub json: Vec<String>,
    /// `--set`
    pub set: Vec<String>,
    /// `--set-string`
    pub strings: Vec<String>,
    /// `--set-file`
    pub set_files: Vec<String>,
    /// `--set-literal`
    pub literals: Vec<String>,
}

impl ValueSources {
    /// Puts the sources together. `read` gives the contents of a named file, or says why not.
    ///
    /// # Errors
    /// [`ValuesError`] for the first source that can't be read.
    pub fn merge(
        &self,
        read: &mut dyn FnMut(&str) -> Result<Vec<u8>, String>,
    ) -> Result<Values, ValuesError> {
        let mut values = Values::default();
        for file in &self.files {
            let text = read(file).map_err(|message| ValuesError::Unreadable { message })?;
            let parsed =
                Values::from_yaml_documents(&text).map_err(|source| ValuesError::File {
                    file: file.clone(),
                    source: Box::new(source),
                })?;
            values.merge(parsed);
        }
        for argument in &self.json {
            let trimmed = argument.trim();
            let object = trimmed.starts_with('{');
            let fault = || ValuesError::SetJson {
                argument: argument.clone(),
                object,
            };
            if object {
                let parsed: Value = serde_json::from_str(trimmed).map_err(|_| fault())?;
                values.merge(Values::from_json(parsed));
            } else {
                set_json(&mut values, argument).map_err(|_| fault())?;
            }
        }
        let flag = |flag| move |source| ValuesError::Set { flag, source };
        for argument in &self.set {
            set(&mut values, argument).map_err(flag("--set"))?;
        }
        for argument in &self.strings {
            set_string(&mut values, argument).map_err(flag("--set-string"))?;
        }
        for argument in &self.set_files {
            set_file(&mut values, argument, read).map_err(flag("--set-file"))?;
        }
        for argument in &self.literals {
            set_literal(&mut values, argument).map_err(flag("--set-literal"))?;
        }
        Ok(values)
    }
}
