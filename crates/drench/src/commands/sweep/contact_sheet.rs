//! The last picture of each run, in rows, with its values below.

use crate::failure::Failure;
use font8x8::{BASIC_FONTS, UnicodeFonts};
use image::imageops::FilterType;
use image::{Rgb, RgbImage};
use std::path::{Path, PathBuf};

/// Width of a picture [px].
const WIDTH: u32 = 360;
/// Room around pictures [px].
const GAP: u32 = 12;
/// Height of the words below a picture [px].
const WORDS: u32 = 28;
/// Side of a letter [px], and how much larger it is drawn if there is room.
const LETTER: u32 = 8;
const LARGE: u32 = 2;
/// Most pictures in a row.
const MOST_COLUMNS: usize = 8;
const GROUND: Rgb<u8> = Rgb([22, 25, 29]);
const INK: Rgb<u8> = Rgb([223, 227, 232]);

/// Writes the sheet of runs with their labels. Returns whether there was a picture at all.
pub fn write(path: &Path, runs: &[(&str, &Path)], columns: usize) -> Result<bool, Failure> {
    let pictures: Vec<(&str, Option<RgbImage>)> =
        runs.iter().map(|(label, folder)| (*label, last_picture(folder))).collect();
    let Some(height) = pictures.iter().filter_map(|(_, picture)| picture.as_ref()).map(RgbImage::height).max() else {
        return Ok(false);
    };
    let sheet = arrange(&pictures, columns, height);
    // The ending tells the format.
    let temporary = path.with_extension("tmp.png");
    sheet
        .save(&temporary)
        .map_err(|error| error.to_string())
        .and_then(|()| std::fs::rename(&temporary, path).map_err(|error| error.to_string()))
        .map_err(|error| Failure::Storage(format!("cannot write {}: {error}", path.display())))?;
    Ok(true)
}

fn arrange(pictures: &[(&str, Option<RgbImage>)], columns: usize, height: u32) -> RgbImage {
    let columns = columns.clamp(1, MOST_COLUMNS).min(pictures.len().max(1)) as u32;
    let rows = (pictures.len() as u32).div_ceil(columns);
    let (cell_width, cell_height) = (WIDTH + GAP, height + WORDS + GAP);
    let mut sheet = RgbImage::from_pixel(columns * cell_width + GAP, rows * cell_height + GAP, GROUND);
    for (number, (label, picture)) in pictures.iter().enumerate() {
        let (column, row) = (number as u32 % columns, number as u32 / columns);
        let (x, y) = (GAP + column * cell_width, GAP + row * cell_height);
        match picture {
            Some(picture) => image::imageops::replace(&mut sheet, picture, i64::from(x), i64::from(y)),
            None => draw_text(&mut sheet, "no picture", x + GAP, y + height / 2, 1),
        }
        let most = |size: u32| (WIDTH / (LETTER * size)) as usize;
        let length = label.chars().count();
        let size = if length <= most(LARGE) { LARGE } else { 1 };
        let shown: String = if length <= most(size) {
            (*label).to_owned()
        } else {
            label.chars().take(most(size) - 2).chain("..".chars()).collect()
        };
        draw_text(&mut sheet, &shown, x, y + height + (WORDS - LETTER * size) / 2, size);
    }
    sheet
}

fn draw_text(sheet: &mut RgbImage, text: &str, x: u32, y: u32, size: u32) {
    for (number, letter) in text.chars().enumerate() {
        let rows = BASIC_FONTS.get(letter).or_else(|| BASIC_FONTS.get('?')).unwrap_or_default();
        let left = x + number as u32 * LETTER * size;
        for (row, bits) in rows.iter().enumerate() {
            for column in (0..LETTER).filter(|column| bits >> column & 1 == 1) {
                for (dx, dy) in (0..size * size).map(|k| (k % size, k / size)) {
                    let (px, py) = (left + column * size + dx, y + row as u32 * size + dy);
                    if let Some(pixel) = sheet.get_pixel_mut_checked(px, py) {
                        *pixel = INK;
                    }
                }
            }
        }
    }
}

/// The last picture of a run that can be read, at the width of the sheet.
fn last_picture(folder: &Path) -> Option<RgbImage> {
    let entries = std::fs::read_dir(folder.join("images")).ok()?.flatten();
    let mut paths: Vec<PathBuf> =
        entries.map(|entry| entry.path()).filter(|path| path.extension().is_some_and(|end| end == "png")).collect();
    paths.sort();
    let picture = paths.iter().rev().find_map(|path| image::open(path).ok())?;
    Some(picture.resize(WIDTH, WIDTH * 2, FilterType::Triangle).into_rgb8())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pictures_stand_in_rows_with_words_below() {
        let red = || Some(RgbImage::from_pixel(WIDTH, 100, Rgb([200, 0, 0])));
        let pictures = [("substeps=4", red()), ("substeps=8", None), (&*"long".repeat(40), red())];
        let sheet = arrange(&pictures, 2, 100);
        assert_eq!(sheet.dimensions(), (2 * (WIDTH + GAP) + GAP, 2 * (100 + WORDS + GAP) + GAP));
        assert_eq!(*sheet.get_pixel(GAP, GAP), Rgb([200, 0, 0]));
        assert_eq!(*sheet.get_pixel(GAP + WIDTH + GAP, GAP), GROUND, "no picture there");
        let ink = |x0: u32, y0: u32| {
            (0..WIDTH * WORDS).filter(|k| *sheet.get_pixel(x0 + k % WIDTH, y0 + k / WIDTH) == INK).count()
        };
        assert!(ink(GAP, GAP + 100) > 100 && ink(GAP, 2 * GAP + 200 + WORDS) > 100);
    }
}
