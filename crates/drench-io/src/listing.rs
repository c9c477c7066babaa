//! Files whose name is a number.

use crate::error::{IoError, Result};
use std::path::Path;
use std::{fs, io};

/// The numbers of the files `NUMBER.extension` in a folder, in order. A folder that does not exist has none.
pub(crate) fn numbered(folder: &Path, extension: &str) -> Result<Vec<u32>> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(IoError::storage("list", folder)(error)),
    };
    let mut numbers = Vec::new();
    for entry in entries {
        let name = entry.map_err(IoError::storage("list", folder))?.file_name();
        let number: Option<u32> =
            name.to_str().and_then(|name| name.strip_suffix(extension)?.strip_suffix('.')?.parse().ok());
        numbers.extend(number);
    }
    numbers.sort_unstable();
    numbers.dedup();
    Ok(numbers)
}
