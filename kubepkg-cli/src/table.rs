//! Tables: columns padded with blanks, two blanks between columns, a header in capitals, nothing after the last
//! cell of a row (reference §3.1).

use crate::out::Label;

/// One cell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cell {
    text: String,
    label: Label,
}

impl Cell {
    /// A cell with a meaning. Line breaks and other runs of blanks become one blank, an empty text becomes `-`.
    pub fn new(text: &str, label: Label) -> Self {
        let text = one_line(text);
        Self {
            text: if text.is_empty() {
                "-".to_owned()
            } else {
                text
            },
            label,
        }
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        Self::new(text, Label::Plain)
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Self::from(text.as_str())
    }
}

/// Text with every run of white space made one blank, so that it stays in its row.
pub(crate) fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Rows under a header.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Table {
    header: Vec<String>,
    rows: Vec<Vec<Cell>>,
    blank_last: bool,
}

impl Table {
    /// An empty table.
    pub fn new(header: &[&str]) -> Self {
        Self {
            header: header.iter().map(|name| (*name).to_owned()).collect(),
            rows: Vec::new(),
            blank_last: false,
        }
    }

    /// Leaves an empty last cell empty instead of writing `-`, for columns of remarks.
    #[must_use]
    pub fn with_remarks(mut self) -> Self {
        self.blank_last = true;
        self
    }

    /// Adds a row; cells beyond the header are dropped, missing ones are empty.
    pub fn row(&mut self, cells: impl IntoIterator<Item = Cell>) {
        self.rows
            .push(cells.into_iter().take(self.header.len()).collect());
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The table as text, with a line break after each row.
    pub fn render(&self) -> String {
        let widths: Vec<usize> = self
            .header
            .iter()
            .enumerate()
            .map(|(column, name)| {
                let cells = self.rows.iter().filter_map(|row| row.get(column));
                cells
                    .map(|cell| width(&cell.text))
                    .chain([width(name)])
                    .max()
                    .unwrap_or_default()
            })
            .collect();
        let mut text = String::new();
        let header = self.header.iter().map(|name| (name.as_str(), Label::Head));
        push_line(&mut text, header, &widths);
        for row in &self.rows {
            let last = self.header.len().saturating_sub(1);
            let cells = row.iter().enumerate().map(|(column, cell)| {
                let blank = self.blank_last && column == last && cell.text == "-";
                (if blank { "" } else { cell.text.as_str() }, cell.label)
            });
            push_line(&mut text, cells, &widths);
        }
        text
    }
}

fn push_line<'a>(
    text: &mut String,
    cells: impl Iterator<Item = (&'a str, Label)>,
    widths: &[usize],
) {
    let start = text.len();
    let mut gap = 0;
    for ((cell, label), column) in cells.zip(widths) {
        if !cell.is_empty() {
            text.extend(std::iter::repeat_n(' ', gap));
            gap = 0;
            text.push_str(&label.paint(cell));
        }
        gap += column.saturating_sub(width(cell)) + 2;
    }
    debug_assert!(text.len() >= start, "a line only grows");
    text.push('\n');
}

/// Columns on the screen: one for each character. Names, versions and reasons are ASCII; a message may not be.
fn width(text: &str) -> usize {
    text.chars().count()
}

/// Breaks text at blanks so that no line exceeds `columns` where a word allows it; later lines begin with
/// `indent` blanks.
pub(crate) fn wrap(text: &str, columns: usize, indent: usize) -> String {
    let mut wrapped = String::new();
    let mut used = 0;
    for word in text.split_whitespace() {
        let len = width(word);
        if used > 0 && used + 1 + len > columns {
            wrapped.push('\n');
            wrapped.extend(std::iter::repeat_n(' ', indent));
            used = indent;
        } else if used > 0 {
            wrapped.push(' ');
            used += 1;
        }
        wrapped.push_str(word);
        used += len;
    }
    wrapped
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(text: &str) -> String {
        anstream::adapter::strip_str(text).to_string()
    }

    #[test]
    fn columns_are_padded_and_rows_end_with_their_text() {
        let mut table = Table::new(&["NAME", "VERSION", "NOTE"]).with_remarks();
        table.row(["a".into(), "1.21.2".into(), "".into()]);
        table.row(["long-name".into(), "".into(), "two\n words".into()]);
        insta::assert_snapshot!(plain(&table.render()), @r"
        NAME       VERSION  NOTE
        a          1.21.2
        long-name  -        two words
        ");
        assert!(
            plain(&table.render())
                .lines()
                .all(|line| line == line.trim_end())
        );
    }

    #[test]
    fn colours_do_not_count_as_width() {
        let mut table = Table::new(&["READY", "X"]);
        table.row([Cell::new("True", Label::Good), "x".into()]);
        assert_eq!(plain(&table.render()), "READY  X\nTrue   x\n");
        assert!(table.render().contains("\u{1b}[32mTrue\u{1b}[0m"));
    }

    #[test]
    fn long_text_is_broken_at_blanks() {
        assert_eq!(wrap("one two three", 7, 2), "one two\n  three");
        assert_eq!(wrap("unbreakable", 3, 2), "unbreakable");
        assert_eq!(wrap("", 10, 2), "");
    }
}
