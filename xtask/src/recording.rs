//! The README's picture: a run of `kubepkg demo` as an SVG.
//!
//! Nothing of it is drawn by hand. The program runs as for a person who has colours, and its lines become text, with
//! the few escape codes that it uses as classes. Lines that are wider than the picture go on in the next row.

use std::fmt::Write as _;
use std::fs;
use std::io::Read as _;
use std::process::Command;

use crate::run::{Failure, Result, built, cargo, file, root, run};

/// Columns of the picture.
const COLUMNS: usize = 104;
/// Size of a character, in the units of the picture.
const WIDTH: f32 = 7.8;
const HEIGHT: usize = 18;
/// Room around the text.
const MARGIN: usize = 16;

/// Runs the demonstration and writes `docs/demo.svg`.
pub(crate) fn write() -> Result<()> {
    run(cargo().args(["build", "--package", "kubepkg-cli"]), "")?;
    let text = record()?;
    let path = root().join("docs/demo.svg");
    fs::write(&path, picture(&text)).map_err(file("write", &path))
}

/// What the demonstration shows, with both streams in one.
fn record() -> Result<String> {
    let failed = |error: std::io::Error| Failure::Message(format!("recording the demo: {error}"));
    let (mut reader, writer) = std::io::pipe().map_err(failed)?;
    let mut command = Command::new(built()?.join("kubepkg"));
    command
        .args(["demo", "--color", "always"])
        .stdout(writer.try_clone().map_err(failed)?)
        .stderr(writer);
    let mut child = command.spawn().map_err(failed)?;
    // The writing ends of the pipe that this process holds are in the command.
    drop(command);
    let mut text = String::new();
    reader.read_to_string(&mut text).map_err(failed)?;
    let status = child.wait().map_err(failed)?;
    if status.success() {
        // Whose machine it was is nobody's business.
        let folder = std::env::temp_dir().display().to_string();
        Ok(text.replace(&format!("cd {folder}"), "cd $TMPDIR"))
    } else {
        Err(Failure::Message(format!(
            "the demo ended with {status}:\n{text}"
        )))
    }
}

/// A piece of a line with the escape code that is in force.
struct Piece {
    code: String,
    text: String,
}

/// The lines of a text, cut at the width of the picture.
fn rows(text: &str) -> Vec<Vec<Piece>> {
    let mut rows = Vec::new();
    for line in text.lines() {
        let mut row: Vec<Piece> = Vec::new();
        let (mut code, mut column) = (String::new(), 0);
        let mut characters = line.chars();
        while let Some(character) = characters.next() {
            if character == '\u{1b}' {
                let escape: String = characters.by_ref().take_while(|c| *c != 'm').collect();
                escape.trim_start_matches('[').clone_into(&mut code);
                continue;
            }
            if column == COLUMNS {
                rows.push(std::mem::take(&mut row));
                column = 0;
            }
            column += 1;
            match row.last_mut().filter(|piece| piece.code == code) {
                Some(piece) => piece.text.push(character),
                None => row.push(Piece {
                    code: code.clone(),
                    text: character.to_string(),
                }),
            }
        }
        rows.push(row);
    }
    rows
}

/// The class of an escape code of the program's (`Label` in `kubepkg-cli`).
fn class(code: &str) -> &'static str {
    match code {
        "1" => "head",
        "32" => "good",
        "33" => "care",
        "1;31" => "bad",
        _ => "",
    }
}

fn picture(text: &str) -> String {
    let rows = rows(text);
    let height = rows.len() * HEIGHT + 2 * MARGIN;
    let columns = u16::try_from(COLUMNS).map_or(0.0, f32::from);
    let margin = u16::try_from(MARGIN).map_or(0.0, f32::from);
    let width = (columns * WIDTH + 2.0 * margin).ceil();
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" \
         height=\"{height}\">\n<title>kubepkg demo</title>\n<style>\n\
         text {{ font: 13px ui-monospace, Menlo, Consolas, \"DejaVu Sans Mono\", monospace; fill: #d4d8dd; white-space: pre; }}\n\
         .head {{ fill: #ffffff; font-weight: bold; }} .good {{ fill: #7ec27e; }} .care {{ fill: #d9b45b; }}\n\
         .bad {{ fill: #e8736c; font-weight: bold; }} .typed {{ fill: #8ab4f8; }}\n</style>\n\
         <rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"#1b1f24\"/>\n"
    );
    for (number, row) in rows.iter().enumerate() {
        let y = MARGIN + (number + 1) * HEIGHT - 5;
        let typed = row
            .first()
            .is_some_and(|piece| piece.text.starts_with("$ "));
        // Writing into a string cannot fail.
        let _ = write!(
            svg,
            "<text x=\"{MARGIN}\" y=\"{y}\" xml:space=\"preserve\">"
        );
        for piece in row {
            let class = if typed { "typed" } else { class(&piece.code) };
            let text = escaped(&piece.text);
            let _ = if class.is_empty() {
                write!(svg, "{text}")
            } else {
                write!(svg, "<tspan class=\"{class}\">{text}</tspan>")
            };
        }
        svg.push_str("</text>\n");
    }
    svg.push_str("</svg>\n");
    svg
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_become_rows_with_their_colours() {
        let long = "x".repeat(COLUMNS + 1);
        let rows = rows(&format!("a\u{1b}[1;31mb<\u{1b}[0mc\n\n{long}\n"));
        let shown: Vec<Vec<(&str, &str)>> = rows
            .iter()
            .map(|row| {
                row.iter()
                    .map(|piece| (class(&piece.code), piece.text.as_str()))
                    .collect()
            })
            .collect();
        assert_eq!(shown[0], [("", "a"), ("bad", "b<"), ("", "c")]);
        assert_eq!(shown[1], []);
        assert_eq!(shown[2..], [vec![("", &long[1..])], vec![("", "x")]]);
        assert_eq!(escaped("b<"), "b&lt;");
    }
}
