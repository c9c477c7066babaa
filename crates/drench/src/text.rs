//! Lines, tables and numbers for people. A reader that went away (`| head`) is no error.

use std::io::{ErrorKind, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

static LOST: AtomicBool = AtomicBool::new(false);

/// Writes a line to standard output.
pub fn line(text: &str) {
    // Whoever closed the pipe does not want to read more; the work goes on, also if there is no output at all.
    match writeln!(std::io::stdout().lock(), "{text}") {
        Err(error)
            if matches!(error.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge) =>
        {
            LOST.store(true, Ordering::Relaxed)
        }
        _ => {}
    }
}

/// Whether some of what was written to standard output did not find room.
pub fn lost() -> bool {
    LOST.load(Ordering::Relaxed)
}

/// Writes a line to standard error.
pub fn error_line(text: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{text}");
}

/// Writes a value as JSON to standard output, over several lines.
pub fn json(value: &serde_json::Value) {
    line(&format!("{value:#}"));
}

/// A table with a heading. Columns whose cells are all numbers stand right.
pub fn table(heading: &[&str], rows: &[Vec<String>]) -> String {
    let columns = heading.len();
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count());
        cells.chain([heading[column].chars().count()]).max().unwrap_or(0)
    };
    let is_number = |cell: &str| cell.starts_with(|c: char| c.is_ascii_digit() || c == '-' || c == '+');
    let right = |column: usize| {
        !rows.is_empty() && rows.iter().filter_map(|row| row.get(column)).all(|cell| cell.is_empty() || is_number(cell))
    };
    let layout: Vec<(usize, bool)> = (0..columns).map(|column| (width(column), right(column))).collect();
    let written = |cells: &mut dyn Iterator<Item = &str>| {
        let padded = cells.zip(&layout).map(
            |(cell, &(width, right))| {
                if right { format!("{cell:>width$}") } else { format!("{cell:<width$}") }
            },
        );
        padded.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    let mut lines = vec![written(&mut heading.iter().copied())];
    lines.push(layout.iter().map(|&(width, _)| "-".repeat(width)).collect::<Vec<_>>().join("  "));
    lines.extend(rows.iter().map(|row| written(&mut row.iter().map(String::as_str))));
    lines.join("\n")
}

/// Breaks a sentence into lines of at most 100 characters, of which all but the first begin after `indent` spaces.
pub fn wrapped(sentence: &str, indent: usize) -> String {
    let mut lines = vec![String::new()];
    for word in sentence.split_whitespace() {
        let last = lines.last_mut().expect("at least one line");
        if last.is_empty() {
            last.push_str(word);
        } else if indent + last.chars().count() + 1 + word.chars().count() <= 100 {
            last.push(' ');
            last.push_str(word);
        } else {
            lines.push(word.to_owned());
        }
    }
    lines.join(&format!("\n{}", " ".repeat(indent)))
}

/// `1234567` as `1 234 567`.
pub fn count(value: u64) -> String {
    let digits = value.to_string();
    let mut out = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(' ');
        }
        out.push(digit);
    }
    out
}

/// Bytes in the unit that fits.
pub fn bytes(value: u64) -> String {
    match value {
        0..1_000 => format!("{value} bytes"),
        1_000..1_000_000 => format!("{:.1} kB", value as f64 * 1e-3),
        1_000_000..1_000_000_000 => format!("{:.1} MB", value as f64 * 1e-6),
        _ => format!("{:.2} GB", value as f64 * 1e-9),
    }
}

/// A duration in the units that fit.
pub fn duration(value: Duration) -> String {
    let seconds = value.as_secs_f64();
    match value.as_secs() {
        0 => format!("{:.0} ms", seconds * 1e3),
        1..60 => format!("{seconds:.1} s"),
        60..3_600 => format!("{} min {:02} s", value.as_secs() / 60, value.as_secs() % 60),
        _ => format!("{} h {:02} min", value.as_secs() / 3_600, value.as_secs() / 60 % 60),
    }
}

/// A figure with as many digits as are worth reading.
pub fn figure(value: f64) -> String {
    match value.abs() {
        0.0 => "0".to_owned(),
        1e-3..1e6 => {
            let decimals = (3 - value.abs().log10().floor() as i32).clamp(0, 6) as usize;
            let digits = format!("{value:.decimals$}");
            if digits.contains('.') { digits.trim_end_matches('0').trim_end_matches('.').to_owned() } else { digits }
        }
        _ => format!("{value:.3e}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_well() {
        assert_eq!(count(0), "0");
        assert_eq!(count(999), "999");
        assert_eq!(count(1_000), "1 000");
        assert_eq!(count(2_090_000), "2 090 000");
        assert_eq!(bytes(13_300_000), "13.3 MB");
        assert_eq!(duration(Duration::from_millis(1_250)), "1.2 s");
        assert_eq!(duration(Duration::from_secs(125)), "2 min 05 s");
        assert_eq!(duration(Duration::from_secs(7_260)), "2 h 01 min");
        assert_eq!(figure(0.012_345), "0.01235");
        assert_eq!(figure(1234.5), "1234");
        assert_eq!(figure(0.5), "0.5");
        assert_eq!(figure(-20.0), "-20");
        assert_eq!(figure(100_000.0), "100000");
        assert_eq!(figure(1.5e-9), "1.500e-9");
    }

    #[test]
    fn long_sentences_are_broken_between_words() {
        assert_eq!(wrapped("a  short one", 5), "a short one");
        let long = wrapped(&"seven77 ".repeat(30), 20);
        assert!(long.lines().enumerate().all(|(i, line)| line.len() <= if i == 0 { 80 } else { 100 }), "{long}");
        assert!(long.lines().skip(1).all(|line| line.starts_with(&" ".repeat(20))));
        assert_eq!(wrapped("", 3), "");
    }

    #[test]
    fn tables_align_words_left_and_numbers_right() {
        let rows = vec![vec!["strands".into(), "9.5".into()], vec!["io".into(), "120.25".into()]];
        let expected = "stage        ms\n-------  ------\nstrands     9.5\nio       120.25";
        assert_eq!(table(&["stage", "ms"], &rows), expected);
    }
}
